package catalog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// good is a SKILL.md without faults, for a directory of the name.
func good(name string) string {
	return "---\nname: " + name + "\ndescription: Counts things.\n---\n\n# Title\n"
}

// plant writes files below a new directory and gives its real path. A name
// that ends in "/" is an empty directory; content that starts with "->" is the
// target of a link.
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "->")
		switch {
		case strings.HasSuffix(name, "/"):
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "{dir}", dir), path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func scan(roots ...string) *Catalog { return Scan(context.Background(), Options{Roots: roots}) }

// reasons gives "reason path" of all problems, paths relative to dir.
func reasons(c *Catalog, dir string) []string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, p.Reason+" "+strings.TrimPrefix(strings.TrimPrefix(p.Path, dir), "/"))
	}
	return out
}

func names(c *Catalog) []string {
	var out []string
	for _, s := range c.Skills {
		out = append(out, s.Name)
	}
	return out
}
