package catalog

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"skill-mcp/internal/yamlcore"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ name, text, block, body, err string }{
		{"plain", "---\na: 1\n---\nbody\n", "a: 1", "body\n", ""},
		{"CRLF", "---\r\na: 1\r\n---\r\n\r\nbody", "a: 1", "\r\nbody", ""},
		{"trailing blanks on the fences", "--- \t\na: 1\n---\t \nb", "a: 1", "b", ""},
		{"closed at the end", "---\na: 1\n---", "a: 1", "", ""},
		{"a blank block", "---\n\n---\nb", "", "b", ""},
		{"later rules stay in the body", "---\na: 1\n---\nb\n---\nc\n", "a: 1", "b\n---\nc\n", ""},
		{"four dashes", "----\na: 1\n----\n", "", "", "line 1"},
		{"indented opener", " ---\na: 1\n---\n", "", "", "line 1"},
		{"indented closer", "---\na: 1\n ---\n", "", "", "never closed"},
		{"text behind the closer", "---\na: 1\n--- x\n", "", "", "never closed"},
		{"an empty block", "---\n---\nb\n", "", "", "empty"},
		{"an empty block before another rule", "---\n---\na: 1\n---\nb\n", "", "", "empty"},
		{"nothing", "", "", "", "it is empty"},
		{"a blank line first", "\n---\na: 1\n---\n", "", "", "blank line"},
		{"only an opener", "---", "", "", "line 1"},
		{"never closed", "---\na: 1\n", "", "", "never closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			block, body, err := split(c.text)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || block != c.block || body != c.body {
				t.Errorf("got %q, %q, %v", block, body, err)
			}
		})
	}
}

func TestADetailSaysWhereInTheFile(t *testing.T) {
	_, err := parseSkillMD([]byte("---\nname: x\ndescription: Use when: now\n---\n"))
	if err == nil || !strings.Contains(err.Error(), "line 3, column 22") || !strings.Contains(err.Error(), "quotes") {
		t.Error(err)
	}
}

func FuzzSkillMD(f *testing.F) {
	for _, s := range []string{"---\na: 1\n---\nb", "\ufeff---\r\na: 1\r\n---", "---\n---\n", "---\n- a\n---\n", "--- \n\t\n---\t", "---\na: \"\xff\n---\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := parseSkillMD(src)
		if err != nil {
			return
		}
		if doc.frontmatter.Kind != yamlcore.Map {
			t.Fatalf("the frontmatter is %s", doc.frontmatter.Kind)
		}
		if text := yamlcore.DecodeUTF8(src); !strings.HasSuffix(text, doc.body) {
			t.Fatalf("the body %q is not the end of %q", doc.body, text)
		}
	})
}

func declared(t testing.TB, block string) (Declaration, []string) {
	t.Helper()
	root, err := yamlcore.Parse([]byte(block), yamlcore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var complaints []string
	d := declare(root, func(name string) bool { return name == "NODE_OPTIONS" }, func(s string) { complaints = append(complaints, s) })
	return d, complaints
}

func TestDeclaration(t *testing.T) {
	const head = "mcp-host:\n  version: 1\n  run:\n    - script: a.js\n      interpreter: node\n"
	for _, c := range []struct {
		name, text string
		scripts    int
		complaints []string
	}{
		{"known keys", "name: x\ndescription: x\nwhen-to-use: x\nwhen_to_use: x\nlicense: x\nversion: 1\nallowed-tools: x\nmetadata: {}\n", 0, nil},
		{"keys that are not text", "1: a\n~: b\n[c]: d\n", 0, []string{`unknown key "1"`, `unknown key "~"`, "unknown key a list"}},
		{"good", head, 1, nil},
		{"a version as a float", strings.Replace(head, "1", "1.0", 1), 1, nil},
		{"a hexadecimal version", strings.Replace(head, "1", "0x1", 1), 1, nil},
		{"a version that is text", strings.Replace(head, "1", "'1'", 1), 0, []string{"mcp-host.version: must be the number 1"}},
		{"another version", strings.Replace(head, "1", "2", 1), 0, []string{"version 2"}},
		{"a huge version", strings.Replace(head, "1", "99999999999999999999", 1), 0, []string{"mcp-host.version"}},
		{"no interpreter", "mcp-host:\n  version: 1\n  run:\n    - script: a.js\n", 0, []string{"run[0]: interpreter"}},
		{"a script twice", head + "    - script: a.js\n      interpreter: node\n", 1, []string{"run[1]: script"}},
		{"a dropped script does not count", "mcp-host:\n  version: 1\n  run:\n    - script: a.js\n    - script: a.js\n      interpreter: node\n", 1, []string{"run[0]: interpreter"}},
		{"variables", head + "      env: [A, A, 1, b c, NODE_OPTIONS, _x]\n", 1, []string{"run[0]: env: \"1\"", "run[0]: env: \"b c\"", "NODE_OPTIONS is reserved"}},
		{"variables that are no list", head + "      env: A\n", 1, []string{"run[0]: env must be a list"}},
		{"infinity as a time limit", head + "      timeout: .inf\n", 1, []string{"run[0]: timeout"}},
		{"no number as a time limit", head + "      timeout: .nan\n", 1, []string{"run[0]: timeout"}},
		{"nothing as a time limit", head + "      timeout:\n", 1, []string{"run[0]: timeout"}},
		{"lists that are none", "mcp-host:\n  version: 1\n  run: {}\n  env: 1\n  egress: x\n", 0, []string{"mcp-host.run: must", "mcp-host.env: must", "mcp-host.egress: must"}},
		{"entries of env", "mcp-host:\n  version: 1\n  env:\n    - A\n    - name: a-b\n    - name: OK\n      secret: true\n", 0, []string{"env[0]: must be a map", "env[1]: name"}},
		{"hosts", "mcp-host:\n  version: 1\n  egress: ['*.x.test', 'http://x', 'x:80', x_y, 1, '']\n", 0,
			[]string{"egress[1]", "egress[2]", "egress[3]", "egress[4]", "egress[5]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, complaints := declared(t, c.text)
			if len(d.Scripts) != c.scripts || len(complaints) != len(c.complaints) {
				t.Fatalf("%+v, %q", d, complaints)
			}
			for i, want := range c.complaints {
				if !strings.Contains(complaints[i], want) {
					t.Errorf("got %q, want %q", complaints[i], want)
				}
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	for text, want := range map[string]int{"30": 30000, "0.5": 500, "030": 30000, "0x1e": 30000, "1e9": MaxTimeoutMs, "300": 300000, "300.0004": 300000, "0.0001": 0,
		"-1": DefaultTimeoutMs, "0": DefaultTimeoutMs, "yes": DefaultTimeoutMs, "'30'": DefaultTimeoutMs, ".inf": DefaultTimeoutMs, "1e400": MaxTimeoutMs} {
		d, _ := declared(t, "mcp-host:\n  version: 1\n  run:\n    - script: a.js\n      interpreter: node\n      timeout: "+text+"\n")
		if got := d.Scripts[0].TimeoutMs; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func FuzzDeclaration(f *testing.F) {
	f.Add([]byte("mcp-host:\n  version: 1\n  run:\n    - script: a.js\n      interpreter: node\n      env: [A]\n      timeout: 3\n  egress: [x.test]\n  env:\n    - name: A\n"))
	f.Add([]byte("mcp-host: {version: 1, run: [{script: ../x, interpreter: 1}, {script: a, interpreter: '', timeout: 1e99}], egress: ['a/b']}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		root, err := yamlcore.Parse(src, yamlcore.Options{})
		if err != nil || root.Kind != yamlcore.Map {
			return
		}
		d := declare(root, func(string) bool { return false }, func(s string) {
			if s == "" {
				t.Fatal("an empty complaint")
			}
		})
		seen := map[string]bool{}
		for _, s := range d.Scripts {
			if CheckPath(s.Path) != nil || seen[s.Path] || s.TimeoutMs < 0 || s.TimeoutMs > MaxTimeoutMs || slices.ContainsFunc(s.Env, func(n string) bool { return !isIdentifier(n) }) {
				t.Fatalf("%+v", s)
			}
			seen[s.Path] = true
		}
	})
}

// plainPath is the rule for paths said in another way: a path as io/fs has it,
// short enough, without the characters that mean something else somewhere.
func plainPath(p string) bool {
	blank := func(s string) bool { return strings.TrimFunc(s, unicode.IsSpace) == "" }
	return fs.ValidPath(p) && p != "." && len(utf16.Encode([]rune(p))) <= 1024 && !strings.ContainsAny(p, "\x00\\%") &&
		!slices.ContainsFunc(strings.Split(p, "/"), blank)
}

// FuzzCheckPath compares the rule with a simple model, and with what the
// operating system would make of the path.
func FuzzCheckPath(f *testing.F) {
	for _, s := range []string{
		"a/b", "../x", "a//b", "é", "a\x00", "%2e", ".", "a/.", " ", "scripts/convert.js", "a/..", "/etc/passwd", "a\\b", "a/ /b", "\u00a0", "\xff", "...", "a/",
		strings.Repeat("a/", 511) + "ab", strings.Repeat("é", 1025), strings.Repeat("\U0001F600", 513),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got := CheckPath(p) == nil
		if got != plainPath(p) {
			t.Fatalf("%q: accepted %v, the model says %v", p, got, !got)
		}
		if got && (!filepath.IsLocal(p) || filepath.Join("/base", p) != "/base/"+p) {
			t.Fatalf("%q leads elsewhere", p)
		}
	})
}
