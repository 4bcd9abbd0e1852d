package deps

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, text string) []Server {
	t.Helper()
	m := Parse([]byte(text))
	if m.Problems != nil {
		t.Fatal(m.Problems)
	}
	return m.Servers
}

func TestConfigOfTheDocumentedEntries(t *testing.T) {
	u, err := Union([]Declared{{"s", parsed(t, twoEntries)}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Config(u)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "mcpServers": {
    "my-http-server": {
      "description": "Lookup service",
      "baseUrl": "https://mcp.example.com/mcp",
      "protocolVersion": "2026-07-28",
      "bearerToken": "${MCP_HTTP_TOKEN}",
      "allowedTools": [
        "lookup"
      ],
      "lifecycle": "ephemeral"
    },
    "my-stdio-server": {
      "command": "/bin/sh",
      "args": [
        "-lc",
        "bunx --bun @example/mcp-server"
      ],
      "blockedTools": [
        "delete_record"
      ],
      "lifecycle": "ephemeral"
    }
  },
  "imports": []
}
`
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
}

func TestEmptyConfig(t *testing.T) {
	got, err := Config(nil)
	if err != nil || string(got) != "{\n  \"mcpServers\": {},\n  \"imports\": []\n}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFilters(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"a19: an empty allow-list hides all", "enabled_tools: []", `"allowedTools": []`},
		{"a20: allow minus block", "enabled_tools: [quote, news, quote]\n      disabled_tools: [news]", "\"allowedTools\": [\n        \"quote\"\n      ]"},
		{"a21: a block-list", "disabled_tools: [write, delete, write]", "\"blockedTools\": [\n        \"delete\",\n        \"write\"\n      ]"},
		{"a23: names are kept exactly", "enabled_tools: [' Get It ']", `" Get It "`},
		{"a43: no HTML escapes", "description: a < b & ü", `"description": "a < b & ü"`},
	} {
		u, err := Union([]Declared{{"s", parsed(t, httpEntry(c.lines))}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Config(u)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v, got\n%s", c.name, err, got)
		}
		if bytes.Contains(got, []byte("allowedTools")) && bytes.Contains(got, []byte("blockedTools")) {
			t.Errorf("%s: both filters make the whole file invalid", c.name)
		}
	}
}

func TestUnion(t *testing.T) {
	base := parsed(t, httpEntry())
	with := func(lines ...string) []Server { return parsed(t, httpEntry(lines...)) }
	for _, c := range []struct {
		name    string
		a, b    []Server
		differs string // "" = united
	}{
		{"a24: equal", base, base, ""},
		{"a27: auto equals absent", base, with("protocol_version: auto"), ""},
		{"a25: url", base, parsed(t, strings.Replace(httpEntry(), "/mcp", "/other", 1)), "url"},
		{"a25: description", base, with("description: x"), "description"},
		{"a25: bearer variable", base, with("bearer_token_env_var: T"), "bearer_token_env_var"},
		{"a25: absent and empty filter differ", base, with("enabled_tools: []"), "enabled_tools"},
		{"a25: transport", base, parsed(t, stdioEntry()), "transport, url"},
		{"filters are sets", with("enabled_tools: [a, b]"), with("enabled_tools: [b, a, a]"), ""},
		{"a30: names differ in case", base, parsed(t, strings.Replace(httpEntry(), "srv", "Srv", 1)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := Union([]Declared{{"two", c.b}, {"one", c.a}})
			if c.differs == "" {
				if err != nil {
					t.Fatal(err)
				}
				if c.name == "a24: equal" && (len(u) != 1 || strings.Join(u[0].Skills, ",") != "one,two") {
					t.Errorf("got %+v", u)
				}
				return
			}
			var p Problems
			if !errors.As(err, &p) || p[0].Code != CodeConflict {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"srv", "one, two", c.differs} {
				if !strings.Contains(p[0].Detail, want) {
					t.Errorf("%q lacks %q", p[0].Detail, want)
				}
			}
		})
	}
}

func TestSameNameTwiceInOneSkill(t *testing.T) {
	a := parsed(t, httpEntry())[0]
	if u, err := Union([]Declared{{"s", []Server{a, a}}}); err != nil || len(u) != 1 || len(u[0].Skills) != 1 {
		t.Errorf("equal: %v, %v", u, err)
	}
	b := a
	b.URL = "https://other.example"
	if _, err := Union([]Declared{{"s", []Server{a, b}}}); err == nil {
		t.Error("different: no conflict")
	}
}

func TestRuntime(t *testing.T) {
	for text, want := range map[string]Runtime{"any": Any, "main": Main, "background_job": Background} {
		if got, err := RuntimeOf(text, true); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got, err := RuntimeOf("", false); err != nil || got != Any {
		t.Errorf("absent: %v, %v", got, err)
	}
	for _, text := range []string{"Main", "worker", ""} {
		if _, err := RuntimeOf(text, true); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, c := range []struct {
		of, run Runtime
		want    bool
	}{{Background, Main, false}, {Background, Background, true}, {Background, Automation, true}, {Any, Main, true}, {Main, Background, false}} {
		if got := c.of.TakesPart(c.run); got != c.want {
			t.Errorf("%s in %s: %v", c.of, c.run, got)
		}
	}
}

// The text does not depend on the order of the input, and a full server's
// worth of skills is united quickly.
func TestManySkills(t *testing.T) {
	all := make([]Declared, 0, maxSkills)
	for i := range maxSkills {
		d := Declared{Skill: fmt.Sprintf("s%04d", i)}
		for j := range maxEntries {
			d.Servers = append(d.Servers, Server{Name: fmt.Sprintf("n%d", (i*7+j)%maxServers), Transport: Stdio, Command: "x"})
		}
		all = append(all, d)
	}
	begun := time.Now()
	u, err := Union(all)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
	want, _ := Config(u)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	u, err = Union(all)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := Config(u); !bytes.Equal(got, want) {
		t.Error("the order of the input shows in the text")
	}
}

func TestCaps(t *testing.T) {
	var d Declared
	for i := range maxServers + 1 {
		d.Servers = append(d.Servers, Server{Name: fmt.Sprintf("n%d", i), Transport: Stdio, Command: "x"})
	}
	if _, err := Union([]Declared{d}); err == nil || !strings.Contains(err.Error(), CodeTooManyServer) {
		t.Errorf("257 servers: %v", err)
	}
	if _, err := Union(make([]Declared, maxSkills+1)); err == nil || !strings.Contains(err.Error(), CodeTooManySkills) {
		t.Errorf("4097 skills: %v", err)
	}
}

func TestScan(t *testing.T) {
	text := []byte(`{"url": "https://h.example/a-long-value"}`)
	if err := Scan(text, map[string]string{"OTHER": "not in there", "SHORT": "h"}); err != nil {
		t.Error(err)
	}
	err := Scan(text, map[string]string{"TOKEN": "https://h.example/a-long-value"})
	if err == nil || !strings.Contains(err.Error(), "TOKEN") || strings.Contains(err.Error(), "a-long-value") {
		t.Errorf("got %v", err)
	}
}
