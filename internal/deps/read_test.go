package deps

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const twoEntries = `dependencies:
  tools:
    - type: mcp
      value: my-http-server
      description: "Lookup service"
      transport: streamable_http
      url: https://mcp.example.com/mcp
      protocol_version: 2026-07-28
      bearer_token_env_var: MCP_HTTP_TOKEN
      enabled_tools:
        - lookup
    - type: mcp
      value: my-stdio-server
      transport: stdio
      command: bunx --bun @example/mcp-server
      disabled_tools:
        - delete_record
`

// httpEntry is a good entry with further lines.
func httpEntry(lines ...string) string {
	return "dependencies:\n  tools:\n    - type: mcp\n      value: srv\n      transport: streamable_http\n      url: https://h.example/mcp\n" + indent(lines)
}

func stdioEntry(lines ...string) string {
	return "dependencies:\n  tools:\n    - type: mcp\n      value: srv\n      transport: stdio\n      command: serve\n" + indent(lines)
}

func indent(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("      " + l + "\n")
	}
	return b.String()
}

func entries(n int) string {
	var b strings.Builder
	b.WriteString("dependencies:\n  tools:\n")
	for i := range n {
		fmt.Fprintf(&b, "    - {type: mcp, value: s%d, transport: stdio, command: x}\n", i)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	many := "enabled_tools: [" + strings.Repeat("a, ", 256) + "a]"
	for _, c := range []struct {
		name, text string
		servers    int
		codes      string // in order, joined by blanks
	}{
		{"a1: the two documented entries", twoEntries, 2, ""},
		{"a3: interface only", "interface: {display_name: x}\n", 0, ""},
		{"a3: no tools", "dependencies:\n  tools: []\n", 0, ""},
		{"a3: empty dependencies", "dependencies: {}\n", 0, ""},
		{"a4: 64 entries", entries(64), 64, ""},
		{"a4: 65 entries", entries(65), 0, CodeTooMany},
		{"a5: an unknown key", httpEntry("timeout_ms: 5"), 0, CodeUnknownField},
		{"a6: unknown keys elsewhere", "policy: {x: 1}\n" + strings.Replace(httpEntry(), "dependencies:\n", "dependencies:\n  other: 1\n", 1), 1, ""},
		{"a7: stdio with url", stdioEntry("url: https://h.example"), 0, CodeOtherField},
		{"a7: stdio with bearer", stdioEntry("bearer_token_env_var: T"), 0, CodeOtherField},
		{"a7: stdio with protocol", stdioEntry("protocol_version: auto"), 0, CodeOtherField},
		{"a7: http with command", httpEntry("command: x"), 0, CodeOtherField},
		{"a8: no transport", "dependencies:\n  tools:\n    - {type: mcp, value: deepwork}\n", 0, CodeRequired},
		{"a9: type MCP", strings.Replace(httpEntry(), "type: mcp", "type: MCP", 1), 0, CodeType},
		{"a9: type http", strings.Replace(httpEntry(), "type: mcp", "type: http", 1), 0, CodeType},
		{"a9: no type", strings.Replace(httpEntry(), "type: mcp\n      value", "value", 1), 0, CodeType},
		{"a11: user information", strings.Replace(httpEntry(), "https://", "https://u:p@", 1), 0, CodeURLCreds},
		{"a secret parameter", strings.Replace(httpEntry(), "/mcp", "/mcp?api_key=1", 1), 0, CodeURLSecret},
		{"not an address", strings.Replace(httpEntry(), "https://h.example/mcp", "ftp://h.example", 1), 0, CodeURL},
		{"a13: placeholder in the url", strings.Replace(httpEntry(), "/mcp", "/${AWS_SECRET}", 1), 0, CodePlaceholder},
		{"a13: placeholder in the description", httpEntry("description: x ${TOKEN}"), 0, CodePlaceholder},
		{"a13: description begins with $env", httpEntry("description: $env:TOKEN"), 0, CodePlaceholder},
		{"a13: placeholder in the command", strings.Replace(stdioEntry(), "serve", "serve ${TOKEN:-x}", 1), 0, CodePlaceholder},
		{"a shell variable in the command", strings.Replace(stdioEntry(), "serve", "serve $TOKEN", 1), 1, ""},
		{"a15: unknown revision", httpEntry("protocol_version: 2027-01-01"), 0, CodeProtocol},
		{"a15: Auto", httpEntry("protocol_version: Auto"), 0, CodeProtocol},
		{"a15: empty", httpEntry(`protocol_version: ""`), 0, CodeProtocol},
		{"a16: not a variable name", httpEntry("bearer_token_env_var: 1X"), 0, CodeEnvName},
		{"a16: a hyphen", httpEntry("bearer_token_env_var: A-B"), 0, CodeEnvName},
		{"a16: with a dollar", httpEntry("bearer_token_env_var: $TOKEN"), 0, CodeEnvName},
		{"a16: the token itself", httpEntry("bearer_token_env_var: Bearer abc"), 0, CodeEnvName},
		{"a16: empty", httpEntry(`bearer_token_env_var: ""`), 0, CodeEnvName},
		{"a22: null filter", httpEntry("enabled_tools: null"), 0, CodeFilter},
		{"a22: a number", httpEntry("enabled_tools: [1]"), 0, CodeFilter},
		{"a22: an empty name", httpEntry(`enabled_tools: [""]`), 0, CodeFilter},
		{"a22: 257 names", httpEntry(many), 0, CodeFilter},
		{"a dot in the name", strings.Replace(httpEntry(), "srv", "a.b", 1), 0, CodeName},
		{"a prototype's name", strings.Replace(httpEntry(), "srv", "__proto__", 1), 0, CodeName},
		{"all mistakes at once", httpEntry("x: 1", "command: y", "protocol_version: z", "bearer_token_env_var: '?'"), 0,
			strings.Join([]string{CodeUnknownField, CodeOtherField, CodeProtocol, CodeEnvName}, " ")},
		{"a46: BOM and CRLF", "\ufeff" + strings.ReplaceAll(twoEntries, "\n", "\r\n"), 2, ""},
		{"a45: two documents", twoEntries + "---\nx: 1\n", 0, CodeYAML},
		{"a45: a duplicate key", "dependencies: {}\ndependencies: {}\n", 0, CodeYAML},
		{"a45: a tab as indentation", "dependencies:\n\ttools: []\n", 0, CodeYAML},
		{"a45: NUL", "dependencies: {}\nx: a\x00b\n", 0, CodeYAML},
		{"a45: a binary tag", "x: !!binary aGVsbG8=\n", 0, CodeYAML},
		{"a list at the top", "- a\n", 0, CodeShape},
		{"tools is a map", "dependencies: {tools: {a: b}}\n", 0, CodeShape},
		{"an entry is text", "dependencies: {tools: [a]}\n", 0, CodeShape},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Parse([]byte(c.text))
			var codes []string
			for _, p := range m.Problems {
				codes = append(codes, p.Code)
			}
			if got := strings.Join(codes, " "); got != c.codes {
				t.Errorf("codes %q, want %q\n%v", got, c.codes, m.Problems)
			}
			if len(m.Servers) != c.servers {
				t.Errorf("%d servers, want %d", len(m.Servers), c.servers)
			}
		})
	}
}

// A message never repeats what may be a token.
func TestTokenIsNotRepeated(t *testing.T) {
	m := Parse([]byte(httpEntry("bearer_token_env_var: ghp_0123456789abcdef0123456789abcdef")))
	if len(m.Problems) != 1 || strings.Contains(m.Problems.Error(), "ghp_") {
		t.Errorf("got %v", m.Problems)
	}
}

// Hostile texts cost little.
func TestHostileTextIsCheap(t *testing.T) {
	bomb := "a: &a [x,x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("b%d: &b%d [*a,*a]\n", i, i)
	}
	for name, text := range map[string]string{
		"nested brackets": "x: " + strings.Repeat("[", 20000),
		"alias bomb":      bomb,
		"wide":            "x: [" + strings.Repeat("a,", 30000) + "]\n",
	} {
		least := time.Hour // of five: the machine may be busy with something else
		for range 5 {
			begun := time.Now()
			Parse([]byte(text))
			least = min(least, time.Since(begun))
		}
		if least > 50*time.Millisecond {
			t.Errorf("%s took %v", name, least)
		}
	}
}

func TestRead(t *testing.T) {
	write := func(t *testing.T, dir, name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, dir string)
		servers int
		code    string
	}{
		{"a2: no file", func(*testing.T, string) {}, 0, ""},
		{"in agents", func(t *testing.T, d string) { write(t, d, metadataPath, twoEntries) }, 2, ""},
		{"at the root", func(t *testing.T, d string) { write(t, d, metadataPathRoot, twoEntries) }, 2, ""},
		{"both, equal", func(t *testing.T, d string) {
			write(t, d, metadataPath, twoEntries)
			write(t, d, metadataPathRoot, twoEntries)
		}, 2, ""},
		{"both, different", func(t *testing.T, d string) {
			write(t, d, metadataPath, twoEntries)
			write(t, d, metadataPathRoot, "x: 1\n")
		}, 0, CodeAmbiguous},
		{"a44: a link out of the skill", func(t *testing.T, d string) {
			os.Mkdir(filepath.Join(d, "agents"), 0o755)
			if err := os.Symlink("/etc/passwd", filepath.Join(d, metadataPath)); err != nil {
				t.Fatal(err)
			}
		}, 0, CodeEscapes},
		{"a44: agents is a link out of the skill", func(t *testing.T, d string) {
			out := t.TempDir()
			write(t, out, "openai.yaml", twoEntries)
			if err := os.Symlink(out, filepath.Join(d, "agents")); err != nil {
				t.Fatal(err)
			}
		}, 0, CodeEscapes},
		{"a link inside the skill", func(t *testing.T, d string) {
			write(t, d, "meta/o.yaml", twoEntries)
			os.Mkdir(filepath.Join(d, "agents"), 0o755)
			if err := os.Symlink("../meta/o.yaml", filepath.Join(d, metadataPath)); err != nil {
				t.Fatal(err)
			}
		}, 2, ""},
		{"a link to nowhere", func(t *testing.T, d string) {
			os.Mkdir(filepath.Join(d, "agents"), 0o755)
			if err := os.Symlink("nowhere", filepath.Join(d, metadataPath)); err != nil {
				t.Fatal(err)
			}
		}, 0, CodeUnreadable},
		{"a directory", func(t *testing.T, d string) { os.MkdirAll(filepath.Join(d, metadataPath), 0o755) }, 0, CodeUnreadable},
		{"a45: 64 KiB and one", func(t *testing.T, d string) {
			write(t, d, metadataPath, "x: "+strings.Repeat("a", maxMetadata))
		}, 0, CodeTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			m := Read(dir)
			code := ""
			if len(m.Problems) > 0 {
				code = m.Problems[0].Code
			}
			if code != c.code || len(m.Servers) != c.servers {
				t.Errorf("got %d servers, %v; want %d, %q", len(m.Servers), m.Problems, c.servers, c.code)
			}
		})
	}
}

func TestUnreadSpellingIsNoted(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "agents"), 0o755)
	os.WriteFile(filepath.Join(dir, metadataPathYml), []byte(twoEntries), 0o644)
	if m := Read(dir); len(m.Notes) != 1 || len(m.Servers) != 0 {
		t.Errorf("got %+v", m)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(twoEntries))
	f.Add([]byte(httpEntry("enabled_tools: [a, a]", "disabled_tools: []")))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := Parse(text)
		if len(m.Problems) > 0 && len(m.Servers) > 0 {
			t.Fatal("servers beside problems")
		}
		if _, err := Union([]Declared{{"s", m.Servers}}); err != nil {
			return
		}
		u, _ := Union([]Declared{{"s", m.Servers}})
		if _, err := Config(u); err != nil {
			t.Fatal(err)
		}
	})
}
