package yamlcore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// cases are texts with what JSON they are; "!" stands for a refusal. The
// differential test gives the same texts to the npm package.
var cases = []struct{ name, text, want string }{
	{"nothing", "", "null"},
	{"only a comment", "# x\n", "null"},
	{"null has five spellings", "[~, null, Null, NULL, nULL, '']\n", `[null,null,null,null,"nULL",""]`},
	{"an empty value is null", "a:\nb: \n", `{"a":null,"b":null}`},
	{"true and false have three spellings each", "[true, True, TRUE, tRUE, false, False, FALSE]\n", `[true,true,true,"tRUE",false,false,false]`},
	{"words that YAML 1.1 takes for true are words", "[yes, Yes, no, on, off, y, n]\n", `["yes","Yes","no","on","off","y","n"]`},
	{"whole numbers are decimal whatever zeros they start with", "[0, 030, 017, -017, +5, -0]\n", `[0,30,17,-17,5,-0]`},
	{"octal and hexadecimal need their prefix in lower case", "[0o36, 0x1e, 0X1F, +0x10, 0o8, 0xg]\n", `[30,30,"0X1F","+0x10","0o8","0xg"]`},
	{"underscores and 0b make words", "[1_000, 0b101, 1__0, 0x1_F]\n", `["1_000","0b101","1__0","0x1_F"]`},
	{"dates and sexagesimals are words", "[2026-01-02, 2026-01-01T00:00:00Z, 1:30, 190:20:30]\n", `["2026-01-02","2026-01-01T00:00:00Z","1:30","190:20:30"]`},
	{"floats keep their digits", "[1.10, 3.10, .5, 5., 1e3, -1.5E-3, +.5e+1, 00.5]\n", `[1.10,3.10,0.5,5,1e3,-1.5E-3,0.5e+1,0.5]`},
	{"numbers beyond 64 bits keep their digits", "[99999999999999999999, 0xFFFFFFFFFFFFFFFFFF]\n", `[99999999999999999999,4722366482869645213695]`},
	{"infinity has no JSON", "k: .inf\n", "!"},
	{"what is no number has no JSON", "k: .nan\n", "!"},
	{"a number out of range has no JSON", "k: 1e400\n", "!"},
	{"<< is a key", "<<: {x: 1}\ny: 2\n", `{"<<":{"x":1},"y":2}`},
	{"quoted scalars are text", `["1", '1', "true", 'null']` + "\n", `["1","1","true","null"]`},
	{"JSON escapes", `k: "a\/b \u2014 \ud83d\ude00 \x41 \U0001F600 \e"` + "\n", `{"k":"a/b ` + "\u2014 \U0001F600 A \U0001F600" + ` \u001b"}`},
	{"half a surrogate pair", `k: "\ud83d"` + "\n", "!"},
	{"half a surrogate pair before text", `k: "\ud83d\u0041"` + "\n", "!"},
	{"an unknown escape", `k: "\q"` + "\n", "!"},
	{"an escape that is cut short", `k: "\u12"` + "\n", "!"},
	{"single quotes know one escape", `k: 'it''s \n'` + "\n", `{"k":"it's \\n"}`},
	{"a quoted scalar folds", "k: \"a  \n  b\n\n  c\\\n   d \\\n  e\"\n", `{"k":"a b\nc` + "d e" + `"}`},
	{"a blank line behind an escaped line end", "k: \"a\\\n\n  b\\\n\n\n  c\"\n", `{"k":"a b\nc"}`},
	{"a quoted scalar does not go on at column 1", "k: \"a\nb\"\n", "!"},
	{"nor in single quotes", "k: 'a\nb'\nj: 1\n", "!"},
	{"a plain scalar folds", "k: a\n  b\n\n  c\n", `{"k":"a b\nc"}`},
	{"a plain scalar does not go on at column 1", "k: a\nb\n", "!"},
	{"a comment ends a plain scalar", "k: a # b\n", `{"k":"a"}`},
	{"# within a word is no comment", "k: C# a#b\n", `{"k":"C# a#b"}`},
	{"indicators within a plain scalar", "k: Run *all* tests, Q &A [x] {y} a:b - c ? d | e > f % g @ h ` i\n", `{"k":"Run *all* tests, Q ` + "&" + `A [x] {y} a:b - c ? d | e > f % g @ h ` + "`" + ` i"}`},
	{"a colon in a value", "k: a: b\n", "!"},
	{"a colon at the end of a value", "k: a:\n", "!"},
	{"a star first", "k: **a** b\n", "!"},
	{"an at sign first", "k: @a\n", "!"},
	{"a backtick first", "k: `a` b\n", "!"},
	{"a percent sign first", "k: %a\n", "!"},
	{"text after a bracket", "k: [a] b\n", "!"},
	{"text after a quote", "k: \"a\" b\n", "!"},
	{"a comment right after a quote", "k: \"a\"#b\n", "!"},
	{"a dash first", "k: - a\n", "!"},
	{"block text with text on its first line", "k: >a\n", "!"},
	{"anchors", "k: &a b\n", "!"},
	{"aliases", "a: 1\nk: *a\n", "!"},
	{"core tags", "[!!str 1, !!int \"12\", !!null '', !!bool true, !!float 1.5, ! 12, !!seq [], !!map {}]\n", `["1",12,null,true,1.5,"12",[],{}]`},
	{"a tag that does not fit", "k: !!int abc\n", "!"},
	{"a tag that does not fit yes", "k: !!bool yes\n", "!"},
	{"a tag that is not core", "k: !!binary aGVsbG8=\n", "!"},
	{"a tag of its own", "k: !foo x\n", "!"},
	{"a set", "k: !!set {a, b}\n", "!"},
	{"a duplicate key", "a: 1\na: 2\n", "!"},
	{"a duplicate key in another spelling", "m:\n  1: a\n  0x1: b\n", "!"},
	{"a duplicate null key", "m:\n  ~: a\n  null: b\n", "!"},
	{"keys that differ but not in JSON", "m:\n  1: a\n  \"1\": b\n", "!"},
	{"the same key in two maps", "a: {n: 1}\nb: {n: 2}\n", `{"a":{"n":1},"b":{"n":2}}`},
	{"keys of every kind", "1: a\ntrue: b\n1.50: c\n~: d\n0x1f: e\n", `{"1":"a","true":"b","1.5":"c","":"d","31":"e"}`},
	{"a template", "k: {{x}}\n", `{"k":{"{ x }":null}}`},
	{"a list as a key", "[a, b]: c\n", `{"[ a, b ]":"c"}`},
	{"explicit keys", "? a\n: b\n? c\n", `{"a":"b","c":null}`},
	{"a list indented like its key", "k:\n- a\n- b\nj: c\n", `{"k":["a","b"],"j":"c"}`},
	{"compact nesting", "- - a\n  - b\n- c: d\n  e: f\n", `[["a","b"],{"c":"d","e":"f"}]`},
	{"flow over lines, closed at column 1", "k: {\n  \"a\": [\"x\", 'y',],\n}\nj: 1\n", `{"k":{"a":["x","y"]},"j":1}`},
	{"flow that goes on at column 1", "k: [a,\nb]\n", "!"},
	{"a pair in a list", "[a: b, {c: d}, \"e\":f]\n", `[{"a":"b"},{"c":"d"},{"e":"f"}]`},
	{"two commas", "[a,,b]\n", "!"},
	{"a bracket never closed", "k: [a\n", "!"},
	{"literal text", "k: |\n  a\n   b\n\n  c\nj: 1\n", `{"k":"a\n b\n\nc\n","j":1}`},
	{"literal text, stripped and kept", "a: |-\n  x\n\nb: |+\n  x\n\nc: |2-\n   x\n", `{"a":"x","b":"x\n\n","c":" x"}`},
	{"folded text", "k: >\n  a\n  b\n\n  c\n    d\n  e\n", `{"k":"a b\nc\n  d\ne\n"}`},
	{"block text with a comment behind its sign", "k: | # c\n  a\n", `{"k":"a\n"}`},
	{"a rule inside literal text", "k: |-\n  a\n  ---\n  b: c\n", `{"k":"a\n---\nb: c"}`},
	{"a tab as indentation", "m:\n\ta: 1\n", "!"},
	{"tabs that are no indentation", "k:\ta\tb\n\t\nj: c\n", `{"k":"a\tb","j":"c"}`},
	{"line ends of other systems", "k: a\r\nj: >-\r\n  b\r\n  c\r\n", `{"k":"a","j":"b c"}`},
	{"NEL, U+2028, C1 and U+FFFE are characters", "k: a\u0085b\u2028c\u0080d\ufffee\n", `{"k":"a` + "\u0085b" + `\u2028c` + "\u0080d\ufffe" + `e"}`},
	{"a byte order mark", "\ufeffk: v\n", `{"k":"v"}`},
	{"bytes that are not UTF-8", "k: Caf\xe9 x\n", `{"k":"Caf` + "\ufffd" + ` x"}`},
	{"a control character", "k: a\x01b\n", "!"},
	{"an escape character as it is", "k: \"\x1b[0m\"\n", "!"},
	{"NUL", "k: a\x00b\n", "!"},
	{"DEL", "k: a\x7fb\n", "!"},
	{"a document in markers", "%YAML 1.2\n---\nk: 1\n...\n# c\n", `{"k":1}`},
	{"two documents", "k: 1\n---\nk: 2\n", "!"},
	{"text after the end", "k: 1\n...\nfoo\n", "!"},
	{"an unknown directive", "%FOO bar\n---\nk: 1\n", "!"},
	{"indentation that fits nothing", "a:\n    b: 1\n  c: 2\n", "!"},
	{"a line without colon", "a: 1\nfoo\nb: 2\n", "!"},
}

func TestParse(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			node, err := Parse([]byte(c.text), Options{})
			var got []byte
			if err == nil {
				got, err = node.JSON()
			}
			switch {
			case err != nil && c.want != "!":
				t.Fatalf("refused: %v", err)
			case err == nil && string(got) != c.want:
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCasesAreReadAsTheNpmPackageReadsThem(t *testing.T) {
	var texts []string
	for _, c := range cases {
		if strings.HasPrefix(c.text, "\ufeff") || strings.ToValidUTF8(c.text, "") != c.text {
			continue // JSON carries neither to the package
		}
		texts = append(texts, c.text)
	}
	compareAll(t, texts)
}

func TestAnErrorSaysWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		met, hint    string
	}{
		{"an unquoted colon", "name: x\ndescription: Use when: the count is off\n", 3, 22, `": "`, "quotes"},
		{"a colon at the end of the line", "description: Steps to take:\n", 2, 27, `": "`, "quotes"},
		{"a colon behind characters of several bytes", "d: é😀: x\n", 2, 6, `": "`, "quotes"},
		{"a star", "d: **bold**\n", 2, 4, "*", "quotes"},
		{"an at sign", "d: @x\n", 2, 4, "@", "quotes"},
		{"a backtick", "d: `x`\n", 2, 4, "`", "quotes"},
		{"text after a bracket", "d: [beta] x\n", 2, 11, "closing bracket", "quotes"},
		{"text after a quote", "a: 1\nd: \"x\" y\n", 3, 8, "closing quote", "quotes"},
		{"a value that goes on at column 1", "d: x\ny\n", 3, 1, "without a colon", "indent"},
		{"a quoted value that goes on at column 1", "d: \"x\ny\"\n", 3, 1, "without indentation", "indent"},
		{"a quote that is never closed", "d: \"x\n", 2, 4, "never closed", "close it"},
		{"a tab", "m:\n\ta: 1\n", 3, 2, "tab", "spaces"},
		{"a duplicate", "a: 1\nb: 2\na: 3\n", 4, 1, "first on line 2", "one of them"},
		{"a control character", "a: 1\nb: x\x02\n", 3, 5, "U+0002", "remove"},
		{"a backslash in double quotes", `a: "C:\quux"` + "\n", 2, 7, "escape", "single quotes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), Options{FirstLine: 2})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("want an *Error, got %v", err)
			}
			if e.Line != c.line || e.Column != c.column || !strings.Contains(e.Met, c.met) || !strings.Contains(e.Hint, c.hint) {
				t.Fatalf("got %v, want line %d, column %d, %q, hint %q", e, c.line, c.column, c.met, c.hint)
			}
		})
	}
}

func TestNodesSayWhereTheyAre(t *testing.T) {
	root, err := Parse([]byte("a: 1.10\nb:\n  - 'x'\n  - {c: yes}\n"), Options{FirstLine: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := root.Get("b").Items[1].Get("c")
	if c.Line != 5 || c.Column != 9 || c.Kind != String || c.Text != "yes" {
		t.Errorf("got %+v", c)
	}
	if x := root.Get("b").Items[0]; x.Raw != "'x'" || x.Style != SingleQuoted || x.Column != 5 {
		t.Errorf("got %+v", x)
	}
	if a := root.Get("a"); a.Raw != "1.10" || a.Kind != Float {
		t.Errorf("got %+v", a)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text  string
		whole int64
		isInt bool
		value float64
	}{
		{"1", 1, true, 1}, {"1.0", 1, true, 1}, {"030", 30, true, 30}, {"0x1e", 30, true, 30}, {"0o36", 30, true, 30}, {"3e1", 30, true, 30},
		{"-5", -5, true, -5}, {"+5", 5, true, 5}, {"0.5", 0, false, 0.5}, {"99999999999999999999", 0, false, 1e20},
		{"9223372036854775807", 1<<63 - 1, true, 1 << 63}, {"0xFFFFFFFFFFFFFFFFFF", 0, false, 4722366482869645213695},
	} {
		n, err := Parse([]byte(c.text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole, isInt := n.Int64()
		value, ok := n.Number()
		if whole != c.whole || isInt != c.isInt || value != c.value || !ok {
			t.Errorf("%s: got %d %v %v %v", c.text, whole, isInt, value, ok)
		}
	}
}

// worst are texts of 64 KiB that are as much work as possible.
func worst() map[string]string {
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (MaxBytes-len(head)-len(tail))/len(unit)) + tail
	}
	var keys strings.Builder
	for i := 0; keys.Len() < MaxBytes-16; i++ {
		fmt.Fprintf(&keys, "k%x:\n", i)
	}
	return map[string]string{
		"dashes": fill("", "- ", ""), "empty items": fill("", "-\n", ""), "brackets": fill("", "[", ""), "items": fill("[", "a,", "]"),
		"explicit keys": fill("[", "?,", "]"), "empty pairs": fill("[", ":,", "]"), "keys": keys.String(), "line ends": fill("", "\n", ""),
		"plain lines": fill("k: a", "\n b", ""), "blank plain lines": fill("[", "a\n\n\n", "]"), "quoted lines": fill("k: \"", "\n a", "\""),
		"escapes": fill("k: \"", `\n`, `"`), "digits": fill("k: ", "9", ""), "hex digits": fill("k: 0x", "f", ""), "literal": fill("k: |\n", " a\n", ""),
		"folded": fill("k: >\n a\n", "\n", " a\n"), "maps": fill("[", "{},", "]"), "pairs": fill("[", "a:\n ,", "]"), "tags": fill("", "- !!str a\n", ""),
		"nested": fill("", "- - - - a\n", ""), "comments": fill("", "#\n", ""), "quotes": fill("", "''", ""), "wide": fill("k: [", "\U0001F600,", "]"),
		"not UTF-8": fill("k: ", "\xff", ""), "lists of maps": fill("", "- a:\n", ""), "open quotes": fill("[", "'a',", "]"), "tabs": fill("k: a\n", "\n \t", ""),
	}
}

func TestTheWorstTextsAreReadInBoundedTimeAndMemory(t *testing.T) {
	for name, text := range worst() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			best := time.Hour
			runtime.ReadMemStats(&before)
			rounds := uint64(0)
			for best > 20*time.Millisecond && rounds < 50 { // other work on the machine disturbs single ones
				best = min(best, cost(func() { _, _ = Parse([]byte(text), Options{}) }))
				rounds++
			}
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) / rounds; used > 16<<20 {
				t.Errorf("allocates %d bytes", used)
			}
			if best > 20*time.Millisecond {
				t.Errorf("takes %v", best)
			}
		})
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":       strings.Repeat("#", MaxBytes+1),
		"flow depth":  strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		"block depth": strings.Repeat("- ", MaxDepth+1) + "a",
		"values":      "[" + strings.Repeat("a,", MaxBytes/2-1) + "?]",
	} {
		if _, err := Parse([]byte(text), Options{}); err == nil && name != "values" {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth)), Options{}); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		node, err := Parse(src, Options{})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Met == "" {
				t.Fatalf("an error without place or cause: %#v", err)
			}
			return
		}
		first, err := node.JSON()
		if err != nil {
			return
		}
		// JSON is YAML but for long keys: what was written reads as the same.
		again, err := Parse(first, Options{MaxBytes: 1 << 30})
		if err != nil {
			if strings.Contains(err.Error(), "1024 bytes") || strings.Contains(err.Error(), "control character") || strings.Contains(err.Error(), "within each other") || strings.Contains(err.Error(), "values") {
				return
			}
			t.Fatalf("%s is not read back: %v", first, err)
		}
		second, err := again.JSON()
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s becomes %s: %v", first, second, err)
		}
	})
}

func BenchmarkWorst(b *testing.B) {
	for name, text := range worst() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse([]byte(text), Options{})
			}
		})
	}
}
