package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigNamesTheOriginOfEveryVariable: whatever variable is set, one row
// says that its value came from it.
func TestConfigNamesTheOriginOfEveryVariable(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "acme.yaml")
	if err := os.WriteFile(policy, []byte("name: acme\nextends: standalone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	values := map[string]string{
		"MCP_SKILLS_PATH": dir, "SKILLS_DIR": dir, "MCP_DATA_DIR": dir, "MCP_SKILL_POLICY": policy, "MCP_SKILL_RUN": "[]", "MCP_SKILL_MAX": "5",
		"MCP_SKILL_DISABLE": "a,b", "MCP_SKILL_AUDIT": "audit.jsonl", "MCP_PROTOCOL": "legacy", "MCP_CONFIRM_MODE": "auto",
		"MCP_CONFIRM_ELICITATION": "off", "MCP_CONFIRM_TTL_SECONDS": "60", "MCP_CONFIRM_WAIT_SECONDS": "9",
	}
	for name := range variablesRead(t) {
		value := values[name]
		if value == "" {
			value = "1"
		}
		env := map[string]string{name: value}
		if name == "MCP_HOST_CONFIRM_SECRET" {
			env["MCP_DATA_DIR"] = dir // it is used only with one
		}
		rows, _, err := settings(func(n string) (string, bool) { v, ok := env[n]; return v, ok })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, r := range rows {
			found = found || r.Origin == name
		}
		if !found {
			t.Errorf("no row has the origin %s", name)
		}
	}
}

// TestConfigShowsWhatIsUsed: a value that the gate cannot use is named, and
// the row says what holds in its place.
func TestConfigShowsWhatIsUsed(t *testing.T) {
	for _, c := range []struct{ name, value, row, used string }{
		{"MCP_CONFIRM_TTL_SECONDS", "12345678901234567890", "approval lasts", "999999999 s"},
		{"MCP_CONFIRM_TTL_SECONDS", "0", "approval lasts", "unusable: no approval by token"},
		{"MCP_CONFIRM_WAIT_SECONDS", "3601", "prompt waits", "120 s"},
		{"MCP_CONFIRM_MODE", "yes", "confirmation mode", "refuse"},
		{"MCP_CONFIRM_ELICITATION", "nope", "confirmation prompts", "on"},
	} {
		rows, warnings, err := settings(func(n string) (string, bool) { return c.value, n == c.name })
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], c.name) {
			t.Errorf("%s=%s: %q, %v", c.name, c.value, warnings, err)
		}
		for _, r := range rows {
			if r.Name == c.row && (r.Value != c.used || r.Origin != c.name) {
				t.Errorf("%s=%s: %+v", c.name, c.value, r)
			}
		}
	}
}

// TestConfigShowsNoSecret, in either form: not the key of approvals, not the
// password of a proxy.
func TestConfigShowsNoSecret(t *testing.T) {
	const secret = "hunter2-hunter2"
	t.Setenv("MCP_CONFIRM_SECRET", secret)
	t.Setenv("MCP_HOST_CONFIRM_SECRET", secret)
	t.Setenv("HTTPS_PROXY", "http://me:"+secret+"@proxy.example:8080")
	t.Setenv("GITHUB_TOKEN", secret)
	for _, args := range [][]string{{"config"}, {"config", "--json"}} {
		out, code := command(t, newRootCommand(), args...)
		if code != exitOK || strings.Contains(out, secret) || !strings.Contains(out, "not shown") {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
		if len(args) == 2 && !json.Valid([]byte(out)) {
			t.Errorf("not JSON: %s", out)
		}
	}
}
