package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// plainUID is an ordinary user.
const plainUID = 65534

// base holds the helper binary and the skills, readable for every user.
var base string

// TestMain builds the helper that is shipped and serves it in these tests.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if slices.Contains(os.Args, "-test.fuzzworker") {
			return m.Run() // fuzz targets need no helper, and a worker starts often
		}
		dir, err := os.MkdirTemp("", "skill-mcp-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		base = dir
		build := exec.Command("go", "build", "-o", dir+"/", "skill-mcp/cmd/skill-exec", "skill-mcp/cmd/skill-egress")
		if out, err := build.CombinedOutput(); err != nil || os.Chmod(dir, 0o755) != nil {
			fmt.Fprintf(os.Stderr, "build the helper: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// users are the ones every end-to-end test runs as.
func users(t *testing.T, test func(t *testing.T, uid int)) {
	for name, uid := range map[string]int{"root": 0, "plain": plainUID} {
		if uid != os.Getuid() && os.Getuid() != 0 {
			continue // an ordinary user can be no other
		}
		t.Run(name, func(t *testing.T) { test(t, uid) })
	}
}

// server is a monitor that was started and its front.
type server struct {
	*runner.Runner
	t     *testing.T
	cmd   *exec.Cmd
	root  string
	ready wire.Ready
}

// options of a server; the zero value is a standalone one of an ordinary test.
type options struct {
	uid  int
	env  []string
	boot func(*wire.Boot)
}

// testPolicy wants every layer that there is, and has three interpreters.
func testPolicy() policy.Policy {
	p := policy.Policy{Name: "test", Network: policy.NetNone, Limits: policy.Defaults()}
	for _, l := range report.Layers() {
		p.Layers = append(p.Layers, policy.Layer{Layer: l, Want: report.Prefer, Why: "test"})
	}
	for _, i := range []string{"node", "bash", "true"} {
		p.Interpreters = append(p.Interpreters, policy.Interpreter{Name: i, Why: "test"})
	}
	// A shell is of use only with the programs it starts.
	p.Read = []policy.Path{{Path: "/usr", Why: "test"}, {Path: "/bin", Why: "test"}, {Path: "/lib", Why: "test"}, {Path: "/lib64", Why: "test"}}
	return p
}

// startHelper starts the helper on one end of a socket pair and gives the other.
func startHelper(t *testing.T, o options) (*exec.Cmd, *os.File, string) {
	t.Helper()
	root, err := os.MkdirTemp(base, "root-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	b := wire.Boot{Policy: testPolicy(), Grants: grant.Grants{From: grant.FromDeclaration}, Roots: []string{root}, FrontUID: -1, Version: "test"}
	if o.boot != nil {
		o.boot(&b)
	}
	text, err := wire.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.MemfdCreate("boot", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	hand := os.NewFile(uintptr(memory), "boot")
	defer hand.Close()
	if _, err := hand.WriteAt(text, 0); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	defer theirs.Close()
	_ = unix.SetNonblock(pair[0], true)
	cmd := exec.Command(filepath.Join(base, "skill-exec"), "monitor")
	cmd.Env, cmd.Dir = append([]string{"PATH=/usr/bin:/bin", "HOME=/root"}, o.env...), "/"
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs, hand}, os.Stderr
	if o.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.uid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, os.NewFile(uintptr(pair[0]), "ours"), root
}

// serve starts a server and waits for its first word.
func serve(t *testing.T, o options) *server {
	t.Helper()
	cmd, sock, root := startHelper(t, o)
	s := &server{Runner: runner.New(sock), t: t, cmd: cmd, root: root}
	t.Cleanup(func() { _ = s.Close(); _ = cmd.Wait() })
	var err error
	if s.ready, err = s.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// script writes a skill's script and gives the request that runs it.
func (s *server) script(interpreter, text string, args ...string) wire.Request {
	return request(s.t, s.root, "demo", "run.cjs", interpreter, text, args...)
}

func request(t *testing.T, root, skill, script, interpreter, text string, args ...string) wire.Request {
	t.Helper()
	path := filepath.Join(root, skill, script)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	return wire.Request{
		Dir: skill, Skill: filepath.Base(skill), Script: script, Args: append([]string{}, args...), Interpreter: interpreter,
		Env: []string{}, Hosts: []string{}, TimeoutMs: 20_000, ScriptSHA256: hex.EncodeToString(sum[:]), BundleSHA256: "",
	}
}

// run runs a request to its end.
func (s *server) run(req wire.Request) runner.Outcome {
	s.t.Helper()
	out, err := s.Run(within(s.t), req, nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// until waits for a condition of the system outside, which nothing announces.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond) // polled: the event is another process's end
	}
}

// commands lists the processes whose command line holds a mark.
func commands(mark string) (pids []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		line, _ := os.ReadFile(filepath.Join(d, "cmdline")) // a process that ended meanwhile has none
		if strings.Contains(string(line), mark) {
			pids = append(pids, filepath.Base(d))
		}
	}
	return pids
}

// status reads one line of /proc/PID/status.
func status(pid int, key string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // "" when it is gone
	for _, l := range strings.Split(string(text), "\n") {
		if v, ok := strings.CutPrefix(l, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func itoa(n int) string { return fmt.Sprint(n) }

func mkfifo(path string) error { return unix.Mkfifo(path, 0o644) }
