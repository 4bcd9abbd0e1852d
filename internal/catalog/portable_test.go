package catalog

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// nodePackages gives the folder of installed npm packages, or ends the test:
// as not run, or as failed where they are due.
func nodePackages(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../test/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"skills-ref"}, bundles...) {
		if _, serr := os.Stat(filepath.Join(dir, name, "package.json")); serr != nil {
			err = serr
		}
	}
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
			t.Fatalf("npm packages are due here: %v", err)
		}
		t.Skipf("not run: %v", err)
	}
	return dir
}

// bundles are npm packages that carry skills.
var bundles = []string{"cc-sdd", "@plaited/development-skills", "@houseofwolvesllc/claude-scrum-skill"}

// skillDirs gives the directories below that hold a SKILL.md.
func skillDirs(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == skillFile && d.Type().IsRegular() {
			out = append(out, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// portability is one difference to skills-ref that is meant.
type portability struct {
	why     string
	applies func(ours []string, theirs []string) bool
}

func only(list []string, parts ...string) bool {
	for _, s := range list {
		if !slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) }) {
			return false
		}
	}
	return len(list) > 0
}

var meantPortability = []portability{
	{"keys beyond the specification do not stop a skill: clients ignore them, and mcp-host is one",
		func(ours, theirs []string) bool { return len(ours) == 0 && only(theirs, "Unexpected fields") }},
	{"a name or description that is a number, a list or nothing is not text; skills-ref writes it as text",
		func(ours, theirs []string) bool { return only(ours, ", not text") }},
	{"skills-ref takes trailing blanks off a name; a directory of that name is another one",
		func(ours, theirs []string) bool { return only(ours, "is not the directory's", "is not made of") }},
	{"strict YAML 1.2 and the fences of the contract refuse what skills-ref (js-yaml, lenient fences) reads",
		func(ours, theirs []string) bool { return only(ours, "malformed") }},
	{"2026-01-02 is text in YAML 1.2; skills-ref reads a date",
		func(ours, theirs []string) bool { return len(ours) == 0 && only(theirs, "GMT", "Unexpected fields") }},
	{"a byte order mark and blanks behind the fences are accepted here",
		func(ours, theirs []string) bool {
			return len(ours) == 0 && only(theirs, "must start with YAML frontmatter", "not properly closed", "Unexpected fields")
		}},
}

// verdict gives what keeps the skill of a directory from being portable.
func verdict(t *testing.T, dir string) []string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, skillFile))
	if err != nil {
		return []string{"unreadable"}
	}
	doc, err := parseSkillMD(src)
	if err != nil {
		return []string{"malformed: " + err.Error()}
	}
	return notPortable(filepath.Base(dir), doc.frontmatter)
}

func TestPortabilityIsJudgedAsSkillsRefJudgesIt(t *testing.T) {
	packages := nodePackages(t)
	var dirs []string
	for _, b := range bundles {
		found := skillDirs(t, filepath.Join(packages, b))
		if len(found) == 0 {
			t.Errorf("no skill in %s", b)
		}
		dirs = append(dirs, found...)
	}
	if cases := os.Getenv("SKILL_MCP_CASES"); cases != "" {
		dirs = append(dirs, skillDirs(t, cases)...)
	}
	in, err := json.Marshal(dirs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/portable.mjs", filepath.Join(packages, "skills-ref"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs [][]string
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(err)
	}
	agreed, portable := 0, 0
	for i, dir := range dirs {
		ours := verdict(t, dir)
		if len(ours) == 0 {
			portable++
		}
		if (len(ours) == 0) == (len(theirs[i]) == 0) {
			agreed++
			continue
		}
		k := slices.IndexFunc(meantPortability, func(p portability) bool { return p.applies(ours, theirs[i]) })
		if k >= 0 {
			t.Logf("%s: %s", filepath.Base(dir), meantPortability[k].why)
		} else {
			t.Errorf("%s: ours %q, skills-ref %q", dir, ours, theirs[i])
		}
	}
	t.Logf("%d of %d verdicts agree, %d skills are portable", agreed, len(dirs), portable)
}
