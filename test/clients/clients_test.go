package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
func (f tools) script(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.node, append([]string{filepath.Join(f.dir, name)}, args...)...)
	cmd.Dir, cmd.Env = f.dir, f.environment()
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
