package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tools are where the programs under test and their clients are.
type tools struct {
	dir     string // test/node
	node    string // node 24
	fixture string
	server  string // bin/skill-mcp; "" when it was not built
}

// find looks for what `make test` provides. Without it the test says that it
// was not run, or fails where the gate requires it (SKILL_MCP_REQUIRE_NODE=1).
func find(t *testing.T) tools {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "node"))
	if err != nil {
		t.Fatal(err)
	}
	found := tools{dir: dir, node: filepath.Join(dir, "node_modules", "node24", "bin", "node")}
	if _, err := os.Stat(found.node); err != nil {
		missing(t, "the clients are not installed: run npm ci in test/node")
	}
	found.fixture = filepath.Join(t.TempDir(), "fixture")
	if out, err := exec.Command("go", "build", "-o", found.fixture, "./testdata/fixture").CombinedOutput(); err != nil {
		t.Fatalf("build the fixture: %v\n%s", err, out)
	}
	server, err := filepath.Abs(filepath.Join("..", "..", "bin", "skill-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(server); err == nil {
		found.server = server
	}
	return found
}

// withServer is find for tests that need the built server.
func withServer(t *testing.T) tools {
	t.Helper()
	found := find(t)
	if found.server == "" {
		missing(t, "bin/skill-mcp is not built: run make")
	}
	return found
}

func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
		t.Fatal(what)
	}
	t.Skip("not run: " + what)
}

// environment is what a program under test gets: nothing of ours by accident.
func (f tools) environment(more ...string) []string {
	env := []string{"SKILL_MCP_FIXTURE=" + f.fixture, "SKILL_MCP_BIN=" + f.server}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR", "GOCOVERDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

// script runs one of test/node's drivers; each line it prints is a subtest.
func (f tools) script(t *testing.T, name string, more ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.node, filepath.Join(f.dir, name))
	cmd.Dir, cmd.Env = f.dir, f.environment(more...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checks, failed := 0, false
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var check struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
		}
		if err := json.Unmarshal(lines.Bytes(), &check); err != nil {
			t.Errorf("%s printed %q", name, lines.Text())
			continue
		}
		checks++
		t.Run(check.Name, func(t *testing.T) {
			if !check.OK {
				failed = true
				t.Error(check.Detail)
			}
		})
	}
	if err := cmd.Wait(); (err != nil) != failed || checks == 0 {
		t.Errorf("%s made %d checks and ended with %v\n%s", name, checks, err, tail(said.String()))
	} else if failed {
		t.Logf("the servers said:\n%s", tail(said.String()))
	}
}

func tail(s string) string {
	if len(s) > 8000 {
		return "…" + s[len(s)-8000:]
	}
	return s
}

// run runs a program of an npm package to its end.
func (f tools) run(t *testing.T, more []string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.node, args...)
	cmd.Dir, cmd.Env = f.dir, f.environment(more...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	text, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() != 0 {
		t.Logf("%v\n%s", err, tail(errOut.String()))
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// program is the path of an npm package's program, by its package.json.
func (f tools) program(t *testing.T, pkg, bin string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "node_modules", pkg, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Bin json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{}
	if json.Unmarshal(manifest.Bin, &paths) != nil {
		var only string
		if err := json.Unmarshal(manifest.Bin, &only); err != nil {
			t.Fatal(err)
		}
		paths[bin] = only
	}
	return filepath.Join(f.dir, "node_modules", pkg, paths[bin])
}

// serveHTTP starts a server on a free port and gives its address; it is ended,
// in order, with the test.
func serveHTTP(t *testing.T, env []string, name string, args ...string) (url string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w // the fixture says it on one, skill-mcp on the other
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		_ = r.Close()
	})
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if i := strings.Index(lines.Text(), "http://"); i >= 0 {
				found <- strings.Fields(lines.Text()[i:])[0]
				break
			}
		}
		_, _ = io.Copy(io.Discard, r)
		close(found)
	}()
	select {
	case url := <-found:
		if url == "" {
			t.Fatalf("%s said no address", name)
		}
		return url
	case <-time.After(20 * time.Second):
		t.Fatalf("%s said no address in time", name)
	}
	return ""
}

func TestSDK(t *testing.T)    { find(t).script(t, "sdk.mjs") }
func TestClient(t *testing.T) { find(t).script(t, "client.mjs") }
func TestHTTP(t *testing.T)   { find(t).script(t, "http.mjs") }

// The suite's own scenarios against a server that has what they look for: what
// fails here fails in the transport.
func TestConformanceOfTheTransports(t *testing.T) {
	f := find(t)
	url := serveHTTP(t, f.environment(), f.fixture, "--http", "127.0.0.1:0")
	conformance(t, f, url, "2025-11-25", "server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "completion-complete",
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
		"tools-call-with-logging", "tools-call-error", "tools-call-with-progress", "tools-call-elicitation", "elicitation-sep1034-defaults",
		"elicitation-sep1330-enums", "server-sse-multiple-streams", "resources-list", "resources-read-text", "resources-read-binary",
		"resources-templates-read", "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
		"prompts-get-with-image", "dns-rebinding-protection")
	conformance(t, f, url, "2026-07-28", "server-stateless", "completion-complete", "tools-list", "tools-call-simple-text", "tools-call-error",
		"tools-call-with-progress", "server-sse-multiple-streams", "resources-list", "resources-read-text", "resources-read-binary",
		"resources-templates-read", "sep-2164-resource-not-found", "prompts-list", "prompts-get-simple", "dns-rebinding-protection", "caching",
		"http-header-validation", "input-required-result-basic-elicitation", "input-required-result-missing-input-response",
		"input-required-result-result-type", "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params",
		"input-required-result-validate-input")
}

// The scenarios that need nothing but what skill-mcp has.
func TestConformanceOfTheServer(t *testing.T) {
	f := withServer(t)
	for skills, dir := range f.portable(t) {
		url := serveHTTP(t, f.environment("SKILLS_DIR="+dir), f.server, "serve", "--http", "127.0.0.1:0")
		t.Run(skills, func(t *testing.T) {
			conformance(t, f, url, "2025-11-25", "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
				"completion-complete", "dns-rebinding-protection")
			modern := []string{"tools-list", "resources-list", "prompts-list", "completion-complete", "caching", "sep-2164-resource-not-found",
				"dns-rebinding-protection", "http-header-validation", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"}
			if skills == "bundled" || skills == "plaited" {
				modern = append(modern, "sep-2640-skills-directory") // it wants a folder inside the first skill
			}
			conformance(t, f, url, "2026-07-28", modern...)
		})
	}
}

// conformance has the suite run all that a revision requires, in one process,
// and looks for the scenarios named here in its summary; the others need tools
// that the server does not have. Scenarios of extensions are not in that list
// and are run one by one.
func conformance(t *testing.T, f tools, url, revision string, scenarios ...string) {
	t.Helper()
	program := f.program(t, "@modelcontextprotocol/conformance", "conformance")
	out, _ := f.run(t, nil, program, "server", "--url", url, "--requirements", revision)
	for _, scenario := range scenarios {
		t.Run(revision+"/"+scenario, func(t *testing.T) {
			if _, summary, ok := strings.Cut(out, "=== SUMMARY ==="); ok && strings.Contains(summary, " "+scenario+": ") {
				if !strings.Contains(summary, "✓ "+scenario+": ") || strings.Contains(summary, "✓ "+scenario+": 0 passed") {
					text, _ := f.run(t, nil, program, "server", "--url", url, "--spec-version", revision, "--scenario", scenario)
					t.Error(tail(text))
				}
				return
			}
			text, code := f.run(t, nil, program, "server", "--url", url, "--spec-version", revision, "--scenario", scenario, "--force")
			if code != 0 || strings.Contains(text, "Unknown scenario") {
				t.Errorf("exit status %d\n%s", code, tail(text))
			}
		})
	}
}

// portable gives folders of skills: the bundled ones, and real bundles. What is
// not portable in them is not in skills/list.
func (f tools) portable(t *testing.T) map[string]string {
	t.Helper()
	bundled, err := filepath.Abs(filepath.Join("..", "..", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"bundled": bundled,
		"plaited": filepath.Join(f.dir, "node_modules", "@plaited", "development-skills"),
		"scrum":   filepath.Join(f.dir, "node_modules", "@houseofwolvesllc", "claude-scrum-skill"),
		"cc-sdd":  filepath.Join(f.dir, "node_modules", "cc-sdd", "templates", "agents", "claude-code-skills"),
	}
}

func TestInspector(t *testing.T) {
	f := withServer(t)
	program := f.program(t, "@modelcontextprotocol/inspector", "inspector")
	for skills, dir := range f.portable(t) {
		for _, era := range []string{"legacy", "auto", "modern"} {
			inspect := func(t *testing.T, args ...string) string {
				t.Helper()
				all := append([]string{program, "--cli", "--protocol-era", era, "-e", "SKILLS_DIR=" + dir, f.server}, args...)
				out, code := f.run(t, []string{"MCP_CATALOG_PATH=" + filepath.Join(t.TempDir(), "mcp.json")}, all...)
				if code != 0 {
					t.Errorf("exit status %d\n%s", code, tail(out))
				}
				return out
			}
			t.Run(fmt.Sprintf("%s/%s", skills, era), func(t *testing.T) {
				inspect(t, "--method", "skills/list", "--verify", "--require-digests")
				inspect(t, "--method", "tools/list", "--strict")
				if out := inspect(t, "--method", "tools/call", "--tool-name", "skill_list"); !strings.Contains(out, "rootsFrom") {
					t.Errorf("skill_list gave %s", tail(out))
				}
			})
		}
	}
}

func TestMcporter(t *testing.T) {
	f := withServer(t)
	program := f.program(t, "mcporter", "mcporter")
	bundled := f.portable(t)["bundled"]
	config := filepath.Join(t.TempDir(), "mcporter.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"skills": map[string]any{"command": f.server, "env": map[string]string{"SKILLS_DIR": bundled}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, says string
		args       []string
	}{
		{"lists every tool", "skill_run", []string{"list", "skills", "--schema"}},
		{"calls skill_list", "skill-mcp-demo", []string{"call", "skills.skill_list"}},
		{"calls skill_load", "body", []string{"call", "skills.skill_load", "name=skill-mcp-demo"}},
		{"calls skill_file", "SKILL.md", []string{"call", "skills.skill_file", `--args`, `{"name":"skill-mcp-demo","paths":["SKILL.md"]}`}},
		{"calls skill_run", "confirm", []string{"call", "skills.skill_run", `--args`, `{"name":"skill-mcp-demo","script":"scripts/report.js"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, code := f.run(t, nil, append([]string{program, "--config", config}, tc.args...)...)
			if code != 0 || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d\n%s", code, tail(out))
			}
		})
	}
}
