package yamlcore

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verdict is what the npm package makes of a text.
type verdict struct {
	JSON  *string `json:"json"`
	Error string  `json:"error"`
}

// judgePackage gives the folder of installed npm packages that holds yaml, or
// ends the test: as not run, or as failed where node's packages are due.
func judgePackage(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../test/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, "yaml", "package.json"))
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
			t.Fatalf("the npm package yaml is due here: %v", err)
		}
		t.Skipf("not run: %v", err)
	}
	return dir
}

// judge asks the npm package about texts.
func judge(t *testing.T, texts []string) []verdict {
	t.Helper()
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/judge.cjs")
	cmd.Env = append(os.Environ(), "NODE_PATH="+judgePackage(t))
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []verdict
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// meant lists the differences to the npm package that are wanted. One is
// allowed where its condition holds for the text, our error ("" for none) and
// the package's verdict.
var meant = []struct {
	why     string
	applies func(text, ours string, theirs verdict) bool
}{
	{"anchors and aliases are refused: a skill needs none, and they hide what a reader approves",
		func(_, ours string, _ verdict) bool {
			return strings.Contains(ours, "reads as an anchor") || strings.Contains(ours, "reads as an alias")
		}},
	{"tags outside the core schema are refused (the package knows !!binary and others of YAML 1.1)",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "not of the core schema") }},
	{"control characters are refused, as YAML 1.2 does; the package lets them through",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "control character") }},
	{"half of a surrogate pair is no character and cannot be written as UTF-8",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "half of a surrogate") }},
	{"infinity and NaN have no JSON; the package writes null",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "which JSON cannot say") }},
	{"keys that differ by value but not in JSON: the package keeps the last of them",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "in JSON like one before it") }},
	{"a line with a directive and nothing behind it is refused; the package finds no document",
		func(_, ours string, theirs verdict) bool {
			return strings.Contains(ours, "directive") && theirs.JSON != nil && *theirs.JSON == "null"
		}},
	{"a text that is one scalar: no document read here is one, and the package asks more of its second line than YAML does",
		func(text, ours string, theirs verdict) bool {
			n, err := Parse([]byte(text), Options{})
			return err == nil && n.Kind != Seq && n.Kind != Map && theirs.JSON == nil
		}},
	{"text behind the key in \"? key\" is refused; the package loses it, or everything after it",
		func(text, ours string, theirs verdict) bool {
			return ours != "" && strings.Contains(text, "?") && theirs.JSON != nil
		}},
	{"a map as the key in \"? :\" is a map, and a second \": \" begins another entry; the package reads an empty key, or a map",
		func(text, ours string, theirs verdict) bool {
			return ours == "" && strings.Contains(text, "?") && (strings.Contains(text, "? :") || lateColon.MatchString(text)) && theirs.JSON != nil
		}},
	{"a colon behind a complete value is refused, with the hint to quote; the package makes an empty key of it",
		func(_, ours string, theirs verdict) bool {
			return ours != "" && theirs.JSON != nil && strings.Contains(*theirs.JSON, `"":`)
		}},
	{"a value that goes on at column 1 is refused also behind a comment, and a quote that is never closed always",
		func(text, ours string, theirs verdict) bool {
			return ours != "" && strings.Contains(text, "\n#") || strings.Contains(ours, "indent every line of it") || strings.Contains(ours, "never closed")
		}},
	{"a tab that stands for indentation is refused also before a tag, and in block text that is not indented else",
		func(_, ours string, theirs verdict) bool {
			return strings.Contains(ours, "a tab in the indentation") && theirs.JSON != nil
		}},
	{"a line of blanks only is empty wherever it stands; the package refuses some that hold a tab",
		func(text, ours string, theirs verdict) bool {
			return ours == "" && blankTab.MatchString(text) && theirs.JSON == nil
		}},
	{"a key and its colon stand on one line; the package takes a colon on a later line for some keys",
		func(text, ours string, theirs verdict) bool {
			return ours != "" && theirs.JSON != nil && lateColon.MatchString(text)
		}},
	{"block text of blank lines with a given indentation keeps their blanks, as YAML has it",
		func(text, ours string, theirs verdict) bool {
			return ours == "" && theirs.JSON != nil && strings.Contains(text, "|2\n")
		}},
	{"a tag before text that starts with ? is a tag",
		func(text, ours string, theirs verdict) bool { return strings.HasPrefix(theirs.Error, "BAD_PROP_ORDER") }},
	{"the package cannot go on (\"impossible\") behind a blank line before a key in brackets, and refuses a tab before a tag",
		func(text, ours string, theirs verdict) bool {
			return ours == "" && (strings.HasPrefix(theirs.Error, "IMPOSSIBLE") || strings.Contains(text, "\t!") && strings.HasPrefix(theirs.Error, "TAB_AS_INDENT"))
		}},
	{"a list or map as a key is written as text in JSON, with the author's quotes; the package writes its own quotes",
		func(_, ours string, theirs verdict) bool {
			return ours == "" && theirs.JSON != nil && (strings.Contains(*theirs.JSON, `"{`) || strings.Contains(*theirs.JSON, `"[`))
		}},
	{"more levels than MaxDepth",
		func(_, ours string, _ verdict) bool { return strings.Contains(ours, "within each other") }},
}

// blankTab matches a line of blanks that holds a tab.
var blankTab = regexp.MustCompile(`(?m)^ *\t[ \t]*\r?$`)

// lateColon matches a line that begins with the colon of a key.
var lateColon = regexp.MustCompile(`\n[ \t]*:\s`)

// compare gives a description of the difference between the package's verdict
// and ours, or "" when there is none that is not meant.
func compare(text string, theirs verdict) string {
	node, err := Parse([]byte(text), Options{MaxBytes: 1 << 24})
	var ours []byte
	if err == nil {
		ours, err = node.JSON()
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	for _, m := range meant {
		if m.applies(text, message, theirs) {
			return ""
		}
	}
	switch {
	case err != nil && theirs.JSON == nil:
		return ""
	case err != nil:
		return "refused (" + message + "), the package gives " + *theirs.JSON
	case theirs.JSON == nil:
		return "gives " + string(ours) + ", the package refuses: " + theirs.Error
	}
	var a, b any
	if err := json.Unmarshal(ours, &a); err != nil {
		return "JSON cannot be read back: " + err.Error() + ": " + string(ours)
	}
	if err := json.Unmarshal([]byte(*theirs.JSON), &b); err != nil {
		return "the package's JSON cannot be read: " + err.Error()
	}
	if d := cmp.Diff(b, a); d != "" {
		return "gives " + string(ours) + ", the package " + *theirs.JSON
	}
	return ""
}

func compareAll(t *testing.T, texts []string) {
	t.Helper()
	bad := 0
	for i, v := range judge(t, texts) {
		if d := compare(texts[i], v); d != "" {
			t.Errorf("%q: %s", texts[i], d)
			if bad++; bad > 40 {
				t.Fatal("and more")
			}
		}
	}
}

// pieces are what generated texts are made of.
var pieces = []string{
	"a", "b", "key", "x y", "1", "0x1", "1.5", "true", "null", "~", ": ", ":", ":\n", "- ", "-", "-\n", "? ", "?", "\n", "\n", "\n", "\n ", "\n  ", "\n    ",
	"\n\n", "\t", "\n\t", " ", "  ", " #c", "#", "#c\n", "'", "''", "'q'", "\"", "\"d\"", "\"\\n\"", "\\", "[", "]", "{", "}", ", ", ",", "[a]", "{a: b}", "{}", "[]",
	"|", ">", "|-", ">+", "|2", "|\n  t\n", ">\n  t\n  u\n", "!!str ", "!!map", "!!int ", "! ", "&a ", "*a", "@", "`", "%", "---", "...", "--- ", "a: b\n", "- a\n", "k: ", "  k: ", "k:\n", "é", "\U0001F600", "\u0085", "\u2028", "<<: ", "\r\n", "x\ry",
}

func generate(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(14) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	// A last line without line end does not occur: the fence cuts behind one.
	b.WriteByte('\n')
	return b.String()
}

func TestGeneratedTextsAreReadAsTheNpmPackageReadsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	texts := make([]string, 3000)
	for i := range texts {
		texts[i] = generate(r)
		if i%2 == 0 {
			texts[i] = "k: " + texts[i] // most of the others are not even maps
		}
	}
	compareAll(t, texts)
}

// samples are frontmatter blocks as people write them, for mutation.
var samples = []string{
	"name: tally\ndescription: Counts things. Use when: never\nlicense: MIT\n",
	"name: tally\ndescription: >-\n  Counts things\n  twice.\n\n  And again.\nmetadata:\n  author: x\n  version: \"1.0\"\n",
	"name: 'tally'\ndescription: \"Counts: \\\"all\\\" things\\n\n  and more.\"\nallowed-tools: Read, Write(*), Bash(git:*)\n",
	"name: tally\ndescription: |\n  Counts\n    things\n  # not a comment\n# a comment\ntags: [a, \"b c\", 'd', {e: f}]\n",
	"mcp-host:\n  version: 1\n  run:\n    - script: scripts/a.js\n      interpreter: node\n      env: [A_KEY, B_KEY]\n      timeout: 030\n  egress: [api.example.test]\n  state: {}\n",
	"metadata: {\"app\":{\"mark\":\"\\ud83d\\udce6\",\"bins\":[\"a\",]},\n  \"os\": [linux]}\nname: x\n",
	"hooks:\n- event: stop\n  run: echo \"a: b\" && c\n- event: start\n  matcher: '*'\n? x\n: y\n",
}

// mutate changes a sample in a few places.
func mutate(r *rand.Rand, s string) string {
	b := []rune(s)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b))
		switch r.IntN(3) {
		case 0:
			b = append(b[:at], b[min(at+1+r.IntN(3), len(b)):]...)
		case 1:
			b = append(b[:at], append([]rune(pieces[r.IntN(len(pieces))]), b[at:]...)...)
		default:
			b[at] = []rune(" \n:-#'\"[]{},&*|>\t?!")[r.IntN(19)]
		}
		if len(b) == 0 {
			break
		}
	}
	return strings.TrimRight(string(b), "\n") + "\n"
}

func TestBrokenFrontmatterIsReadAsTheNpmPackageReadsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = mutate(r, samples[i%len(samples)])
	}
	compareAll(t, texts)
}

// frontmatter matches the block of a SKILL.md.
var frontmatter = regexp.MustCompile(`(?s)\A---\r?\n(.*?\n)---\r?\n`)

func TestRealFrontmatterIsReadAsTheNpmPackageReadsIt(t *testing.T) {
	var texts []string
	err := filepath.WalkDir(judgePackage(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "SKILL.md" || !d.Type().IsRegular() {
			return err
		}
		src, err := os.ReadFile(path)
		if m := frontmatter.FindSubmatch(src); err == nil && m != nil {
			texts = append(texts, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) == 0 {
		t.Skip("not run: no npm package with a SKILL.md is installed")
	}
	compareAll(t, texts)
	t.Logf("%d blocks", len(texts))
}
