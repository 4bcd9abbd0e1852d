package packages

import (
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

// npmEnvironment keeps npm off the network and out of the person's folders.
func npmEnvironment(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "npm_config_cache=" + filepath.Join(home, "cache"),
		"npm_config_offline=true", "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false"}
}

// installNPM installs the packed wrapper with the packed package of this
// platform, as npm would from the registry. The platforms that were not made
// are optional, so npm passes over them.
func installNPM(t *testing.T) (project string, env []string) {
	t.Helper()
	home := folder(t)
	project = filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"private": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	env = npmEnvironment(home)
	cmd := exec.Command("npm", "install", "--no-save", made(t, "npm/chrischall-skill-mcp-[0-9]*.tgz"), made(t, "npm/chrischall-skill-mcp-*-*-[0-9]*.tgz"))
	cmd.Dir, cmd.Env = project, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	return project, env
}

func TestNPM(t *testing.T) {
	project, env := installNPM(t)
	t.Run("npx completes a confirmed run", func(t *testing.T) {
		exchange(t, mcpclient.Options{Command: []string{"npx", "--no", "skill-mcp"}, Env: env, Dir: project})
	})
	t.Run("the plugin's configuration completes a confirmed run", func(t *testing.T) {
		pluginExchange(t, project, env)
	})
	wrapper := filepath.Join(project, "node_modules", ".bin", "skill-mcp")
	t.Run("standard output is the program's own, and so is the exit code", func(t *testing.T) {
		cmd := exec.Command(wrapper, "version")
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), "skill-mcp "+version(t)+" (") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q, %v", out, err)
		}
		cmd = exec.Command(wrapper, "nope")
		cmd.Env = env
		if out, err := cmd.Output(); cmd.ProcessState.ExitCode() != 2 || len(out) != 0 {
			t.Errorf("a mistake gives exit code %d and %q: %v", cmd.ProcessState.ExitCode(), out, err)
		}
	})
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name+" reaches the server, which ends in order", func(t *testing.T) { signalled(t, wrapper, env, signal) })
	}
	t.Run("an end by a signal is passed on", func(t *testing.T) { killedChild(t, wrapper, env) })
	t.Run("a platform that is not there is said on standard error alone", func(t *testing.T) {
		script := filepath.Join(folder(t), "skill-mcp.cjs")
		if err := os.WriteFile(script, []byte(text(t, "packaging/npm/bin/skill-mcp.cjs")), 0o755); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		cmd := exec.Command("node", script)
		cmd.Env, cmd.Stderr = env, &said
		out, _ := cmd.Output()
		if cmd.ProcessState.ExitCode() != 1 || len(out) != 0 || !strings.Contains(said.String(), "is not installed") {
			t.Errorf("exit code %d, output %q, error %q", cmd.ProcessState.ExitCode(), out, said.String())
		}
	})
}

// signalled sends a signal to the wrapper alone, never to its group.
func signalled(t *testing.T, wrapper string, env []string, signal syscall.Signal) {
	c := session(t, mcpclient.Options{Command: []string{wrapper}, Env: env})
	child := onlyChild(t, c.Process().Pid)
	if err := c.Process().Signal(signal); err != nil {
		t.Fatal(err)
	}
	state, err := c.Process().Wait()
	if err != nil || state.ExitCode() != 0 {
		t.Errorf("the wrapper ended with %v, %v; the server's own end is 0", state, err)
	}
	if err := syscall.Kill(child, 0); err != syscall.ESRCH {
		t.Errorf("the server lives on after its wrapper: %v", err)
	}
}

// killedChild kills the server: the wrapper has to end by the same signal.
func killedChild(t *testing.T, wrapper string, env []string) {
	c := session(t, mcpclient.Options{Command: []string{wrapper}, Env: env})
	if err := syscall.Kill(onlyChild(t, c.Process().Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	state, err := c.Process().Wait()
	if err != nil {
		t.Fatal(err)
	}
	if ws := state.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		t.Errorf("the wrapper ended with %v, want signal: killed", state)
	}
}

// onlyChild waits for the one child of a process.
func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("ps", "-o", "pid=", "--ppid", itoa(pid)).Output()
		if err != nil {
			continue
		}
		if f := strings.Fields(string(out)); len(f) == 1 {
			return atoi(t, f[0])
		}
	}
	t.Fatalf("process %d has not one child", pid)
	return 0
}

// pluginExchange starts what the plugin's .mcp.json says, with its variables
// expanded as Claude Code does where SKILLS_DIR is not set.
func pluginExchange(t *testing.T, dir string, env []string) {
	var plugin struct{ McpServers string }
	decode(t, ".claude-plugin/plugin.json", &plugin)
	if !strings.HasPrefix(plugin.McpServers, "./") {
		t.Fatalf("plugin.json: mcpServers is %q, a path below the plugin is wanted", plugin.McpServers)
	}
	var config struct {
		McpServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	decode(t, plugin.McpServers, &config)
	s, ok := config.McpServers["skills"]
	if !ok || len(config.McpServers) != 1 {
		t.Fatalf("%s: %+v", plugin.McpServers, config)
	}
	for name, value := range s.Env {
		env = append(env, name+"="+strings.ReplaceAll(value, "${SKILLS_DIR:-}", ""))
	}
	exchange(t, mcpclient.Options{Command: append([]string{s.Command}, s.Args...), Env: env, Dir: dir})
	// A client that does not know the form leaves it as it stands.
	raw := append(npmEnvironment(filepath.Dir(dir)), "SKILLS_DIR="+s.Env["SKILLS_DIR"])
	exchange(t, mcpclient.Options{Command: append([]string{s.Command}, s.Args...), Env: raw, Dir: dir})
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestMarketplace holds what the documented format demands.
func TestMarketplace(t *testing.T) {
	var m struct {
		Name    string
		Owner   struct{ Name string }
		Plugins []struct{ Name, Source, Description string }
	}
	decode(t, ".claude-plugin/marketplace.json", &m)
	var p struct{ Name, Description string }
	decode(t, ".claude-plugin/plugin.json", &p)
	if m.Name == "" || m.Owner.Name == "" || len(m.Plugins) != 1 {
		t.Fatalf("marketplace.json: %+v", m)
	}
	if e := m.Plugins[0]; e.Name != p.Name || e.Source != "./" || e.Description != p.Description {
		t.Errorf("marketplace.json lists %+v, plugin.json is %+v", e, p)
	}
}
