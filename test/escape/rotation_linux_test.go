package escape

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// TestOldApprovalsEndWithTheKey rotates MCP_CONFIRM_SECRET as the document says:
// an approval outlives a restart with the same key, and none outlives its key.
func TestOldApprovalsEndWithTheKey(t *testing.T) {
	dir, err := os.MkdirTemp(bin, "rotation-") // where every user can read: the front is another one
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	skill := filepath.Join(dir, "skills", "demo")
	if err := os.MkdirAll(skill, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"SKILL.md": "---\nname: demo\ndescription: One script.\nmcp-host:\n  version: 1\n  run: [{script: a.js, interpreter: node}]\n---\nText.\n",
		"a.js":     "console.log('ran')\n",
	} {
		if err := os.WriteFile(filepath.Join(skill, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, second := strings.Repeat("1", 64), strings.Repeat("2", 64)
	kept, lost := previewUnder(t, dir, first), previewUnder(t, dir, first)
	if text := runUnder(t, dir, first, kept); !strings.Contains(text, `"verdict":"exited"`) {
		t.Errorf("with the same key, after a restart: %.400s", text)
	}
	if text := runUnder(t, dir, second, lost); strings.Contains(text, `"verdict"`) || !strings.Contains(text, "TOKEN_INVALID") {
		t.Errorf("with another key: %.400s", text)
	}
	if text := runUnder(t, dir, second, previewUnder(t, dir, second)); !strings.Contains(text, `"verdict":"exited"`) {
		t.Errorf("a fresh approval with the new key: %.400s", text)
	}
}

// previewUnder asks a fresh server with a key for a preview and gives its token.
func previewUnder(t *testing.T, dir, key string) string {
	t.Helper()
	var p struct{ ConfirmToken string }
	if text := runUnder(t, dir, key, ""); json.Unmarshal([]byte(text), &p) != nil || p.ConfirmToken == "" {
		t.Fatalf("no preview: %.400s", text)
	}
	return p.ConfirmToken
}

// runUnder calls skill_run on a fresh server with a key, with a token or none.
func runUnder(t *testing.T, dir, key, token string) string {
	t.Helper()
	c, err := mcpclient.Start(mcpclient.Options{
		Command: []string{filepath.Join(bin, "skill-mcp")},
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SKILLS_DIR=" + filepath.Join(dir, "skills"), "MCP_CONFIRM_SECRET=" + key},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(10 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "demo", "script": "a.js"}
	if token != "" {
		call["confirmToken"] = token
	}
	r, err := c.Tool("skill_run", call, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return r.Text()
}
