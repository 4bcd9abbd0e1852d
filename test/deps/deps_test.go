// Package deps drives the real mcporter with the built programs: from the
// owner's commands, and from inside a script behind the fence. It needs bin/
// and test/node/node_modules; `make test` makes both.
package deps

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// paths of what the suite drives, absolute.
type paths struct{ server, mcporter, everything string }

// built gives the paths, or fails: a suite that is not run is not a suite that
// passed.
func built(t *testing.T) paths {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(top, "test/node/node_modules")
	p := paths{filepath.Join(top, "bin/skill-mcp"), filepath.Join(modules, "mcporter/dist/cli.js"),
		filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js")}
	for _, f := range []string{p.server, p.mcporter, p.everything} {
		if _, err := os.Stat(f); err != nil {
			if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "" {
				t.Skipf("not run: %v (make tools build)", err)
			}
			t.Fatal(err)
		}
	}
	return p
}

// environ is the environment of one command.
func environ(t *testing.T, root string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "SKILLS_DIR=" + root}, more...)
}

// command runs one of the owner's commands.
func command(t *testing.T, p paths, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(p.server, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Every failing row of the measured table is a failure of the command too.
func TestCommands(t *testing.T) {
	p := built(t)
	url := httpServer(t)
	root := skill(t, remoteEntry(url)+
		stdioEntry("everything", "exec node "+p.everything, ", disabled_tools: [get-env]")+
		stdioEntry("exits", "echo 'boot failed' >&2; exit 3", "")+
		stdioEntry("silent", "exec sleep 60", ""), "")
	good := environ(t, root, "REMOTE_TOKEN="+token)
	call := func(tool, timeout string) []string {
		return []string{"deps", "call", tool, "--mcporter", p.mcporter, "--timeout", timeout, "--args-file"}
	}
	word := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(word, []byte(`{"word": "x", "message": "hello"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		env  []string
		want string // in stdout when it succeeds, in stderr when not
		code int
	}{
		{"call over http", append(call("remote.lookup", "20000"), word), good, "found x", 0},
		{"call over stdio", append(call("everything.echo", "20000"), word), good, "hello", 0},
		{"schema of one tool", []string{"deps", "schema", "remote.lookup", "--mcporter", p.mcporter}, good, "inputSchema", 0},
		{"a tool that is not there", append(call("remote.nothing-like-it", "20000"), word), good, "exit code 1", 1},
		{"a blocked tool", append(call("everything.get-env", "20000"), word), good, "not accessible", 1},
		{"an unknown server", append(call("unknown.lookup", "20000"), word), good, "exit code", 1},
		{"slower than its time", append(call("remote.slow", "500"), word), good, "mcporter call", 1},
		{"a server that exits", append(call("exits.x", "5000"), word), good, "mcporter call", 1},
		{"a server that never answers", append(call("silent.x", "1000"), word), good, "mcporter call", 1},
		{"a wrong token", append(call("remote.lookup", "20000"), word), environ(t, root, "REMOTE_TOKEN=wrong-token-0815"), "mcporter call", 1},
		{"no token", append(call("remote.lookup", "20000"), word), environ(t, root), "REMOTE_TOKEN", 1},
		{"arguments that are no object", append(call("remote.lookup", "20000"), p.mcporter), good, "not a JSON object", 1},
		{"list", []string{"deps", "list", "--json"}, good, `"needs"`, 0},
		{"a wrong runtime", []string{"deps", "list", "--runtime", "x"}, good, "--runtime is", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			stdout, stderr, code := command(t, p, c.env, c.args...)
			text := stdout
			if c.code != 0 {
				text = stderr
			}
			if code != c.code || !strings.Contains(text, c.want) {
				t.Errorf("code %d, want %d with %q\nstdout: %.500s\nstderr: %.500s", code, c.code, c.want, stdout, stderr)
			}
			if strings.Contains(stdout+stderr, token) {
				t.Error("the token was printed")
			}
			if d := time.Since(begun); d > 40*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// a41: nothing of the user's own configuration is merged in.
func TestOwnConfigurationIsNotMerged(t *testing.T) {
	p := built(t)
	root := skill(t, remoteEntry(httpServer(t)), "")
	env := environ(t, root, "REMOTE_TOKEN="+token)
	home := strings.TrimPrefix(env[1], "HOME=")
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(`{"mcpServers": {"intruder": {"command": "true"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := command(t, p, env, "deps", "run", "--runtime", "main", "--", "node", p.mcporter, "list", "--json")
	if code != 0 || strings.Contains(stdout, "intruder") || !strings.Contains(stdout, "remote") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

// fenced calls both servers from inside a run and says what each answered.
const fenced = `
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
const call = (tool, args) => {
  try {
    return execFileSync(process.execPath, [MCPORTER, 'call', tool, '--json', '-', '--output', 'json', '--no-oauth', '--timeout', '20000'],
      { input: JSON.stringify(args), encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (error) {
    return 'failed: ' + error.stdout + error.stderr;
  }
};
const file = process.env.MCPORTER_CONFIG;
console.log(JSON.stringify({
  mode: (statSync(file).mode & 0o777).toString(8), exists: existsSync(file), file,
  remote: call('remote.lookup', { word: 'inside' }),
  everything: call('everything.echo', { message: 'inside' }),
  blocked: call('everything.get-env', {}),
}));
`

// A fenced script calls a tool of both kinds of server and gets the answer.
func TestFromInsideTheFence(t *testing.T) {
	p := built(t)
	where, _ := json.Marshal(p.mcporter)
	root := skill(t, remoteEntry(httpServer(t))+stdioEntry("everything", "exec node "+p.everything, ", disabled_tools: [get-env]"),
		strings.Replace(fenced, "MCPORTER,", string(where)+",", 1))
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	rows := `name: deps-test
extends: standalone
network: {mode: open, why: the servers of the test listen on this machine's loopback}
read:
  - {path: ` + filepath.Join(filepath.Dir(filepath.Dir(p.mcporter)), "..") + `, why: mcporter and its servers}
  - {path: /usr/bin, why: the shell that starts a stdio server}
  - {path: /bin, why: the shell that starts a stdio server}
  - {path: /usr/local/bin, why: node for the servers}
`
	if err := os.WriteFile(policy, []byte(strings.ReplaceAll(rows, "mcporter/..", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := mcpclient.Start(mcpclient.Options{
		Command: []string{p.server}, Env: environ(t, root, "REMOTE_TOKEN="+token, "MCP_SKILL_POLICY="+policy), Stderr: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(6 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "needs", "script": "run.mjs"}
	r, err := c.Tool("skill_run", call, 30*time.Second)
	if err != nil || r.IsError {
		t.Fatalf("preview: %v %s", err, r.Text())
	}
	var pv struct {
		ConfirmToken string
		Preview      struct {
			WillRun struct{ EnvNames []string }
		}
	}
	if err := json.Unmarshal([]byte(r.Text()), &pv); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(pv.Preview.WillRun.EnvNames, " "), "MCPORTER_CONFIG") {
		t.Errorf("the preview does not name MCPORTER_CONFIG: %v", pv.Preview.WillRun.EnvNames)
	}
	call["confirmToken"] = pv.ConfirmToken
	if r, err = c.Tool("skill_run", call, 90*time.Second); err != nil || r.IsError {
		t.Fatalf("run: %v %s", err, r.Text())
	}
	var res struct {
		Stdout, Stderr string
		ExitCode       *int
	}
	var said struct{ Mode, File, Remote, Everything, Blocked string }
	if err := json.Unmarshal([]byte(r.Text()), &res); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(res.Stdout), &said); err != nil {
		t.Fatalf("%v\n%s\n%s", err, res.Stdout, res.Stderr)
	}
	if said.Mode != "600" || !strings.Contains(said.Remote, "found inside") || !strings.Contains(said.Everything, "inside") ||
		!strings.Contains(said.Blocked, "not accessible") {
		t.Errorf("got %+v", said)
	}
	if _, err := os.Stat(said.File); err == nil {
		t.Errorf("%s is still there", said.File)
	}
}

// Two skills that disagree stop the set-up before anything is asked or started.
func TestConflictStopsThePreview(t *testing.T) {
	p := built(t)
	root := skill(t, stdioEntry("shared", "one", ""), "")
	other := skill(t, stdioEntry("shared", "two", ""), "")
	if err := os.Rename(filepath.Join(other, "needs"), filepath.Join(root, "also")); err != nil {
		t.Fatal(err)
	}
	preview := func(more ...string) mcpclient.ToolResult {
		t.Helper()
		c, err := mcpclient.Start(mcpclient.Options{Command: []string{p.server}, Env: environ(t, root, more...)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(6 * time.Second)
		if _, err := c.Initialize("2025-11-25", nil); err != nil {
			t.Fatal(err)
		}
		r, err := c.Tool("skill_run", map[string]any{"name": "needs", "script": "run.mjs"}, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := preview()
	for _, want := range []string{"shared", "also, needs", "command"} {
		if !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("want a refusal with %q, got %s", want, r.Text())
		}
	}
	if r := preview("MCP_SKILL_DISABLE=also"); r.IsError {
		t.Errorf("after disabling one: %s", r.Text())
	}
}

// The example skill answers from inside the fence, with the server it brings.
func TestTheExampleSkill(t *testing.T) {
	p := built(t)
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../../examples/skills")); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, "mcp-dependency/scripts/ask.mjs")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	where, _ := json.Marshal(p.mcporter) // where npm put it here; people have it in the global place
	text = bytes.Replace(text, []byte("process.env.MCPORTER ??"), append(where, []byte(" ??")...), 1)
	if err := os.WriteFile(script, text, 0o644); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	rows := "name: example\nextends: standalone\nread:\n  - {path: " + filepath.Dir(filepath.Dir(filepath.Dir(p.mcporter))) +
		", why: mcporter}\n  - {path: /usr/bin, why: the shell}\n  - {path: /bin, why: the shell}\n"
	if err := os.WriteFile(policy, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{root, filepath.Dir(root)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := mcpclient.Start(mcpclient.Options{Command: []string{p.server}, Env: environ(t, root, "MCP_SKILL_POLICY="+policy), Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(6 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "mcp-dependency", "script": "scripts/ask.mjs", "args": []string{"Asia/Tokyo"}}
	r, err := c.Tool("skill_run", call, 30*time.Second)
	if err != nil || r.IsError {
		t.Fatalf("preview: %v %s", err, r.Text())
	}
	var pv struct{ ConfirmToken string }
	if err := json.Unmarshal([]byte(r.Text()), &pv); err != nil {
		t.Fatal(err)
	}
	call["confirmToken"] = pv.ConfirmToken
	if r, err = c.Tool("skill_run", call, 90*time.Second); err != nil || !strings.Contains(r.Text(), "Asia/Tokyo: ") {
		t.Errorf("%v %s", err, r.Text())
	}
}

// A policy that disables one of two disagreeing skills takes effect with SIGHUP.
func TestDisablingTakesEffectWithSIGHUP(t *testing.T) {
	p := built(t)
	root := skill(t, stdioEntry("shared", "one", ""), "console.log('ran')")
	other := skill(t, stdioEntry("shared", "two", ""), "")
	if err := os.Rename(filepath.Join(other, "needs"), filepath.Join(root, "also")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte("name: two\nextends: standalone\n"+more), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{root, filepath.Dir(root), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	changed := make(chan struct{}, 8)
	c, err := mcpclient.Start(mcpclient.Options{
		Command: []string{p.server}, Env: environ(t, root, "MCP_SKILL_POLICY="+policy), Stderr: os.Stderr,
		OnMessage: func(m mcpclient.Message) any {
			if strings.HasSuffix(m.Method, "list_changed") {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(6 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "needs", "script": "run.mjs"}
	if r, err := c.Tool("skill_run", call, 30*time.Second); err != nil || !r.IsError {
		t.Fatalf("before: %v %s", err, r.Text())
	}
	write("disabledSkills: [also]\n")
	if err := c.Process().Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Fatal("no list_changed after SIGHUP")
	}
	if r, err := c.Tool("skill_run", call, 30*time.Second); err != nil || r.IsError {
		t.Errorf("after: %v %s", err, r.Text())
	}
}
