package packages

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// environment is what a client hands a server: the search path, a home that is
// not there, and what the test says.
func environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LANG=C.UTF-8"}, more...)
}

// exchange starts an installed server as a client does and performs initialize,
// skill_load, the preview and the confirmed run of the bundled skill.
func exchange(t *testing.T, o mcpclient.Options) {
	t.Helper()
	c := session(t, o)
	if err := c.Close(15 * time.Second); err != nil {
		t.Errorf("the end of the input: %v", err)
	}
}

// session is exchange without the end.
func session(t *testing.T, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	var said strings.Builder
	o.Stderr = &said
	c, err := mcpclient.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process().Kill() })
	fail := func(what string, err error) {
		t.Helper()
		c.Close(5 * time.Second)
		t.Fatalf("%s: %v\nstandard error:\n%s", what, err, said.String())
	}
	var hello struct {
		ServerInfo struct{ Name, Version string }
	}
	// npx and a busy machine: the client's own 15 s are for a server at hand.
	raw, err := c.Call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "packages", "version": "1"}}, 2*time.Minute)
	if err != nil {
		fail("initialize", err)
	}
	if err := json.Unmarshal(raw, &hello); err != nil || hello.ServerInfo.Version != version(t) {
		t.Errorf("initialize names %+v, version %s is wanted (%v)", hello.ServerInfo, version(t), err)
	}
	if err := c.Notify("notifications/initialized", struct{}{}); err != nil {
		fail("initialized", err)
	}
	confirmedRun(t, c, fail)
	return c
}

// confirmedRun loads the bundled skill, previews its script, confirms, and
// looks at the result.
func confirmedRun(t *testing.T, c *mcpclient.Client, fail func(string, error)) {
	t.Helper()
	tool := func(name string, arguments, into any) {
		t.Helper()
		r, err := c.Tool(name, arguments, 2*time.Minute)
		if err != nil {
			fail(name, err)
		}
		if r.IsError {
			t.Fatalf("%s: %s", name, r.Text())
		}
		if err := json.Unmarshal([]byte(r.Text()), into); err != nil {
			fail(name, err)
		}
	}
	var loaded struct{ Body string }
	tool("skill_load", map[string]any{"name": "skill-mcp-demo"}, &loaded)
	if !strings.Contains(loaded.Body, "scripts/report.js") {
		t.Fatalf("skill_load gives %q", loaded.Body)
	}
	call := map[string]any{"name": "skill-mcp-demo", "script": "scripts/report.js", "args": []string{"installed"}}
	var preview struct {
		ConfirmToken string
		Preview      struct{ WillRun json.RawMessage }
	}
	tool("skill_run", call, &preview)
	if preview.ConfirmToken == "" || len(preview.Preview.WillRun) == 0 {
		t.Fatalf("the preview has no token: %+v", preview)
	}
	call["confirmToken"] = preview.ConfirmToken
	var result struct {
		ExitCode *int
		Verdict  string
		Stdout   string
		Stderr   string
		Fence    struct{ Layers []struct{ Layer, Got string } }
	}
	tool("skill_run", call, &result)
	if result.ExitCode == nil || *result.ExitCode != 0 || !strings.Contains(result.Stdout, `"installed"`) {
		t.Fatalf("the run: %+v", result)
	}
	applied := map[string]bool{}
	for _, l := range result.Fence.Layers {
		applied[l.Layer] = l.Got != "absent"
	}
	for _, layer := range []string{"no-new-privs", "seccomp", "landlock-fs"} {
		if !applied[layer] {
			t.Errorf("layer %s did not hold in the run: %+v", layer, result.Fence.Layers)
		}
	}
}

// version is the one that every manifest carries.
func version(t *testing.T) string {
	t.Helper()
	var m struct{ Version string }
	if err := json.Unmarshal([]byte(text(t, "server.json")), &m); err != nil {
		t.Fatal(err)
	}
	return m.Version
}
