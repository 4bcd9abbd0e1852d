package catalog

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	many := map[string]string{"a/SKILL.md": good("a"), "out/x": ""}
	for i := range 25 {
		many[fmt.Sprintf("a/l%02d", i)] = "->/etc"
	}
	large := map[string]string{}
	for i := range maxSearched {
		large[fmt.Sprintf(".large/%d/x", i)] = ""
	}
	escapes := []string{}
	for i := range 20 {
		escapes = append(escapes, fmt.Sprintf("symlink-escape a/l%02d", i))
	}
	for _, c := range []struct {
		name     string
		files    map[string]string
		roots    []string // below the planted directory; "" is itself
		skills   []string
		problems []string
	}{
		{"the same root twice is one", map[string]string{"a/SKILL.md": good("a")}, []string{"", ""}, []string{"a"}, nil},
		{"a root within another is reached once", map[string]string{"in/a/SKILL.md": good("a")}, []string{"in", ""}, []string{"a"},
			[]string{"no-skill-md in"}},
		{"a root that is a skill, scanned from above, is one skill", map[string]string{"a/SKILL.md": good("a")}, []string{"a", ""}, []string{"a"}, nil},
		{"foo and skills/foo are two directories of one name", map[string]string{"foo/SKILL.md": good("foo"), "skills/foo/SKILL.md": good("foo")},
			[]string{""}, nil, []string{"duplicate-name foo"}},
		{"skills with a SKILL.md is a skill and scanned", map[string]string{"skills/SKILL.md": good("skills"), "skills/a/SKILL.md": good("a")},
			[]string{""}, []string{"skills", "a"}, nil},
		{"skills that is a link inside the root is scanned", map[string]string{"real/a/SKILL.md": good("a"), "skills": "->real"},
			[]string{""}, []string{"a"}, nil},
		{"skills that leads outside is not", map[string]string{"root/b/SKILL.md": good("b"), "root/skills": "->../real", "real/a/SKILL.md": good("a")},
			[]string{"root"}, []string{"b"}, []string{"symlink-escape root/skills"}},
		{"skills that leads nowhere is reported", map[string]string{"b/SKILL.md": good("b"), "skills": "->gone"},
			[]string{""}, []string{"b"}, []string{"symlink-escape skills"}},
		{"each renamed link to a served skill is reported", map[string]string{"a/SKILL.md": good("a"), "b": "->a", "c": "->a", "bad/SKILL.md": "x", "d": "->bad"},
			[]string{""}, []string{"a"}, []string{"name-mismatch b", "name-mismatch c", "malformed-frontmatter bad"}},
		{"a SKILL.md of the root that is a directory is an entry", map[string]string{"SKILL.md/x": "", "a/SKILL.md": good("a")},
			[]string{""}, []string{"a"}, []string{"no-skill-md SKILL.md"}},
		{"a SKILL.md of the root that leads outside", map[string]string{"root/SKILL.md": "->../real.md", "real.md": good("root")},
			[]string{"root"}, nil, []string{"symlink-escape root"}},
		{"hidden directories with skills in every layout", map[string]string{".a/SKILL.md": good("a"), ".b/x/SKILL.md": good("x"),
			".c/skills/x/SKILL.md": good("x"), ".d/x/y/SKILL.md": good("y"), "skills/.e/SKILL.md": good("e"), ".f": "->.a",
			".g/x/skill.md": good("g"), ".h/.i/SKILL.md": good("i"), ".j/SKILL.md/x": "", ".k/x": "->../a"},
			[]string{""}, nil, []string{"hidden-directory .a", "hidden-directory .b", "hidden-directory .c", "hidden-directory .d", "hidden-directory .h",
				"hidden-directory skills/.e"}},
		{"a hidden directory too large to search", large, []string{""}, nil, []string{"hidden-directory .large"}},
		{"hidden directories of a root that is a skill", map[string]string{"r/SKILL.md": good("r"), "r/.a/x/SKILL.md": good("x"), "r/.b/SKILL.md": good("b"),
			"r/skills/.c/deep/er/SKILL.md": good("er"), "r/.d/x": "", "r/x/.e/SKILL.md": good("e")},
			[]string{"r"}, []string{"r"}, []string{"hidden-directory r/.a", "hidden-directory r/.b", "hidden-directory r/skills/.c"}},
		{"skills within a root that is a skill", map[string]string{"r/SKILL.md": good("r"), "r/x/SKILL.md": good("x"), "r/skills/y/SKILL.md": good("y"), "r/z/z/SKILL.md": good("z")},
			[]string{"r"}, []string{"r"}, []string{"nested-skill r/x", "nested-skill r/skills/y"}},
		{"links inside a bundle", map[string]string{"a/SKILL.md": good("a"), "a/in": "->SKILL.md", "a/abs": "->{dir}/a/SKILL.md", "a/loop": "->loop", "a/dead": "->nothing",
			"a/deadout": "->../nothing", "a/dir": "->..", "a/two": "->one", "a/one": "->/etc/hostname", "a/back": "->../a/SKILL.md"},
			[]string{""}, []string{"a"}, []string{"symlink-escape a/deadout", "symlink-escape a/dir", "symlink-escape a/one", "symlink-escape a/two"}},
		{"more than 20 problems of a kind are counted", many, []string{""}, []string{"a"},
			append(append([]string{}, escapes...), "symlink-escape a", "no-skill-md out")},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := plant(t, c.files)
			var roots []string
			for _, r := range c.roots {
				roots = append(roots, filepath.Join(dir, r))
			}
			got := scan(roots...)
			if d := cmp.Diff(c.skills, names(got)); d != "" {
				t.Error(d)
			}
			want, have := slices.Clone(c.problems), reasons(got, dir)
			slices.Sort(want)
			slices.Sort(have)
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("%s\n%+v", d, got.Problems)
			}
		})
	}
}

func TestProblemsComeInTheOrderOfTheContract(t *testing.T) {
	long := strings.Repeat("b", 65)
	dir := plant(t, map[string]string{
		"one/SKILL.md": strings.Replace(good("two"), "---\n\n", "mcp-host: 1\n---\n\n", 1), "one/x%.md": "", "one/l": "->/etc",
		long + "/SKILL.md": strings.Replace(good("x"), "---\n\n", "odd: 1\n---\n\n", 1), "none/x": "", "esc": "->/etc", ".h/SKILL.md": good("h"),
		"r2/dup/SKILL.md": good("dup"), "r3/dup/SKILL.md": good("dup"), "r2/gone": "->nowhere", "r3/s1/SKILL.md": good("s1"), "r3/s2/SKILL.md": good("s2"),
	})
	got := Scan(t.Context(), Options{Roots: []string{dir, dir + "/r2", dir + "/r3"}, MaxSkills: 2})
	want := []string{
		"symlink-escape esc", "no-skill-md none", "no-skill-md r2", "no-skill-md r3", "hidden-directory .h",
		"declaration " + long, "unusable-name " + long,
		"declaration one", "name-mismatch one", "unusable-path one", "symlink-escape one/l",
		"symlink-escape r2/gone", "duplicate-name r2/dup", "skill-limit :" + dir + "/r2:" + dir + "/r3",
	}
	if d := cmp.Diff(want, reasons(got, dir)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"one", "s1"}, names(got)); d != "" {
		t.Error(d)
	}
}

func TestTheListOfProblemsIsBounded(t *testing.T) {
	list := make([]Problem, maxProblems+7)
	got := capped(list, "/r")
	if last := got[len(got)-1]; len(got) != maxProblems+1 || !strings.HasPrefix(last.Detail, "7 more") {
		t.Errorf("%d problems, last %+v", len(got), last)
	}
}

func TestNamesThatAreNotUTF8AreReportedAsText(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/x\xff.md": "", "b\xff/SKILL.md": good("b")})
	got := scan(dir)
	if d := cmp.Diff([]string{"unusable-path a", "unusable-name b\ufffd"}, reasons(got, dir)); d != "" {
		t.Error(d)
	}
}
