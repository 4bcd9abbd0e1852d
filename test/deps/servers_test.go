package deps

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// token is what the HTTP server wants to see.
const token = "a-token-of-the-test-4711"

// httpServer serves MCP over streamable HTTP on loopback to whoever shows the
// token: the tools lookup, which answers, and slow, which does not in time.
func httpServer(t *testing.T) string {
	t.Helper()
	s := server.NewMCPServer("remote", "1")
	s.AddTool(mcp.NewTool("lookup", mcp.WithString("word", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("found " + r.GetString("word", "")), nil
	})
	s.AddTool(mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		return mcp.NewToolResultText("late"), nil
	})
	h := server.NewStreamableHTTPServer(s)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// skill writes one skill that depends on the given entries and declares the
// given script, and returns the folder of skills.
func skill(t *testing.T, entries, script string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "needs")
	for name, text := range map[string]string{
		"SKILL.md": "---\nname: needs\ndescription: Needs MCP servers.\nmcp-host:\n  version: 1\n  run:\n    - script: run.mjs\n" +
			"      interpreter: node\n      timeout: 60\n      env: [REMOTE_TOKEN]\n---\n\nBody\n",
		"agents/openai.yaml": "dependencies:\n  tools:\n" + entries,
		"run.mjs":            script,
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// remoteEntry declares the HTTP server.
func remoteEntry(url string) string {
	return fmt.Sprintf("    - {type: mcp, value: remote, transport: streamable_http, url: '%s', bearer_token_env_var: REMOTE_TOKEN}\n", url)
}

// stdioEntry declares a server that a shell starts.
func stdioEntry(name, command, more string) string {
	text, _ := json.Marshal(command)
	return fmt.Sprintf("    - {type: mcp, value: %s, transport: stdio, command: %s%s}\n", name, text, more)
}
