package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeclaredScriptsAreThere: a script that is a link to a file of its skill
// counts (the contract, 0.4), one that leads elsewhere or to nothing does not.
func TestDeclaredScriptsAreThere(t *testing.T) {
	declare := func(scripts ...string) string {
		lines := "mcp-host:\n  version: 1\n  run:\n"
		for _, s := range scripts {
			lines += "    - {script: " + s + ", interpreter: node}\n"
		}
		return strings.Replace(good("a"), "---\n\n", lines+"---\n\n", 1)
	}
	dir := plant(t, map[string]string{
		"a/SKILL.md": declare("real.js", "link.js", "out.js", "dead.js", "none.js", "folder"),
		"a/real.js":  "", "a/link.js": "->real.js", "a/out.js": "->/etc/hostname", "a/dead.js": "->gone.js", "a/folder/x": "",
	})
	var missing []string
	for _, p := range scan(dir).Problems {
		if p.Reason == DeclaredScriptMissing {
			missing = append(missing, p.Detail)
		}
	}
	if len(missing) != 4 {
		t.Fatalf("%q", missing)
	}
	for i, name := range []string{"out.js", "dead.js", "none.js", "folder"} {
		if !strings.Contains(missing[i], `"`+name+`"`) {
			t.Errorf("%q does not name %s", missing[i], name)
		}
	}
}

// TestTheOrderIsThatOfBytes, of skills and of files, whatever a language says.
func TestTheOrderIsThatOfBytes(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"b", "a10", "B", "a1", "Z", "a2", "A"} {
		files[name+"/SKILL.md"] = good(name)
		files["A/"+name+".md"] = ""
	}
	files["A/_x"], files["A/é"], files["A/.dot"] = "", "", ""
	got := scan(plant(t, files))
	if d := cmp.Diff([]string{"A", "B", "Z", "a1", "a10", "a2", "b"}, names(got)); d != "" {
		t.Error(d)
	}
	var paths []string
	for _, f := range got.Skill("A").Files() {
		paths = append(paths, f.Path)
	}
	if !slices.IsSorted(paths) || len(paths) != 11 {
		t.Errorf("%q", paths)
	}
}
