package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// printed gives the configuration of one client for a command and a folder
// with marks that JSON and TOML have to escape.
func printed(name string) string {
	for _, c := range clients() {
		if c.name == name {
			return c.text(`/opt/a "b"\c/skill-mcp`, map[string]string{"SKILLS_DIR": `/home/é/s k"ills`})
		}
	}
	return ""
}

// TestClientConfigurations: each client's own shape, as its documentation has it.
func TestClientConfigurations(t *testing.T) {
	const command, dir = `/opt/a "b"\c/skill-mcp`, `/home/é/s k"ills`
	for _, c := range []struct {
		name string
		path []string // to the server's entry
		env  string
	}{
		{"claude-code", []string{"mcpServers", "skills"}, "env"}, {"claude-desktop", []string{"mcpServers", "skills"}, "env"},
		{"cursor", []string{"mcpServers", "skills"}, "env"}, {"gemini", []string{"mcpServers", "skills"}, "env"},
		{"vscode", []string{"servers", "skills"}, "env"}, {"opencode", []string{"mcp", "skills"}, "environment"},
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(printed(c.name)), &m); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, key := range c.path {
			m, _ = m[key].(map[string]any)
		}
		got := m["command"]
		if list, ok := got.([]any); ok && c.name == "opencode" && len(list) == 1 {
			got = list[0]
		}
		env, _ := m[c.env].(map[string]any)
		if got != command || env["SKILLS_DIR"] != dir {
			t.Errorf("%s: %s", c.name, printed(c.name))
		}
		if c.name == "vscode" && m["type"] != "stdio" || c.name == "opencode" && (m["type"] != "local" || m["enabled"] != true) {
			t.Errorf("%s: %v", c.name, m)
		}
	}
	want := "[mcp_servers.skills]\ncommand = \"/opt/a \\\"b\\\"\\\\c/skill-mcp\"\n\n[mcp_servers.skills.env]\nSKILLS_DIR = \"/home/é/s k\\\"ills\"\n"
	if got := printed("codex"); got != want {
		t.Errorf("codex: got %s, want %s", got, want)
	}
	if n := len(clients()); n != 7 {
		t.Errorf("%d clients", n)
	}
}

// TestClientsWritesOnlyANewFile, and only when it is told to.
func TestClientsWritesOnlyANewFile(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(filepath.Dir(exe), "skill-mcp") // clients names the program beside itself
	if err := os.WriteFile(beside, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if out, code := command(t, newRootCommand(), "clients", "--skills", "my skills"); code != 0 || !strings.Contains(out, filepath.Join(dir, "my skills")) {
		t.Errorf("exit %d: %s", code, out)
	}
	if entries, _ := os.ReadDir("."); len(entries) != 0 {
		t.Errorf("something was written: %v", entries)
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"clients", "vscode", "--write", ".vscode/mcp.json"}, 0},
		{[]string{"clients", "vscode", "--write", ".vscode/mcp.json"}, 2}, // it is there now
		{[]string{"clients", "--write", "all.json"}, 2},
		{[]string{"clients", "emacs"}, 2},
	} {
		if out, code := command(t, newRootCommand(), c.args...); code != c.code {
			t.Errorf("%v: exit %d, want %d: %s", c.args, code, c.code, out)
		}
	}
	if text, err := os.ReadFile(".vscode/mcp.json"); err != nil || !json.Valid(text) {
		t.Errorf("%v: %s", err, text)
	}
}
