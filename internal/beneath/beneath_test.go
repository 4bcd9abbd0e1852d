package beneath

import (
	"os"
	"path/filepath"
	"testing"
)

// mkdirs makes directories and, for names that end so, SKILL.md files.
func mkdirs(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		path := filepath.Join(root, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCandidate(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	many, single := filepath.Join(base, "many"), filepath.Join(base, "single")
	mkdirs(t, many, "a/SKILL.md", "skills/b/SKILL.md", "a/deep/b/SKILL.md", "store/far/c/SKILL.md", ".hid/SKILL.md", "store/d/SKILL.md")
	mkdirs(t, single, "SKILL.md", "a/SKILL.md")
	for link, to := range map[string]string{"c": "store/far/c", ".d": "store/d"} {
		if err := os.Symlink(to, filepath.Join(many, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		root, dir string
		ok        bool
	}{
		"a child":                             {many, "a", true},
		"a child of skills":                   {many, "skills/b", true},
		"a linked directory":                  {many, "store/far/c", true},
		"a directory deep in a bundle":        {many, "a/deep/b", false},
		"a hidden directory":                  {many, ".hid", false},
		"a directory that a hidden link has":  {many, "store/d", false},
		"the root, which is no skill":         {many, ".", false},
		"the root, which is one":              {single, ".", true},
		"a child of a root that is the skill": {single, "a", false},
	} {
		if err := Candidate(c.root, filepath.Join(c.root, c.dir)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
