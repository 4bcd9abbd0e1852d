package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/tun"
)

// The test binary runs itself in several roles: host is the tests, in a network
// namespace that stands for the host's network; run has a namespace and a
// device of its own and becomes the program under test; client is a program
// that moves bytes; confined tries what the process must not be able to do.
const (
	roleVariable   = "EGRESS_TEST_ROLE"
	binaryVariable = "EGRESS_TEST_BINARY"
	resolvVariable = "EGRESS_TEST_RESOLV"
	userVariable   = "EGRESS_TEST_USER"
	roleHost       = "host"
	roleRun        = "run"
	roleClient     = "client"
	roleConfined   = "confined"
)

func TestMain(m *testing.M) {
	if slices.ContainsFunc(os.Args, func(a string) bool {
		return strings.HasPrefix(a, "-test.fuzz") && !strings.HasPrefix(a, "-test.fuzzcachedir")
	}) {
		os.Exit(m.Run()) // what is fuzzed needs no network, and its workers must not each make one
	}
	var err error
	code := 0
	switch os.Getenv(roleVariable) {
	case "":
		code, err = buildAndRun()
	case roleHost:
		code, err = host(m)
	case roleRun:
		err = becomeRun()
	case roleClient:
		err = client(os.Args[1:])
	case roleConfined:
		err = tryForbidden()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// buildAndRun builds the process under test and runs the tests in a namespace.
func buildAndRun() (int, error) {
	dir, err := os.MkdirTemp("", "egress-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a plain user runs what is in it
		return 1, err
	}
	binary := filepath.Join(dir, "skill-egress")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "skill-mcp/cmd/skill-egress")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build skill-egress: %w\n%s", err, out)
	}
	if err := copySelf(clientPath(binary)); err != nil {
		return 1, err
	}
	return runAsHost(binary, os.Args[1:], os.Geteuid() != 0, os.Geteuid())
}

// binaryPath is the process under test.
func binaryPath() string { return os.Getenv(binaryVariable) }

// clientPath is a copy of the test binary that a plain user can run.
func clientPath(binary string) string { return filepath.Join(filepath.Dir(binary), "client") }

func copySelf(to string) error {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// runAsHost runs the test binary in the role of the host, as root in a network
// namespace, or as a user in a user namespace of its own.
func runAsHost(binary string, args []string, inUserNamespace bool, uid int) (int, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleHost, binaryVariable+"="+binary)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if inUserNamespace {
		mapInto(cmd.SysProcAttr, uid)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// mapInto adds a user namespace whose root is the user.
func mapInto(attr *syscall.SysProcAttr, uid int) {
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.Credential = &syscall.Credential{}
}

// becomeRun opens the device, hands it over on fd 3, and executes the program.
func becomeRun() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(os.Getenv(resolvVariable), "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount resolv.conf: %w", err)
	}
	device, err := tun.Open()
	if err != nil {
		return err
	}
	if err := tun.Send(3, device); err != nil {
		return err
	}
	unix.Close(device.FD)
	unix.Close(3)
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		return err
	}
	return unix.Exec(path, os.Args[1:], os.Environ())
}

// running is a run in progress.
type running struct {
	t        *testing.T
	egress   *egresswire.Process
	cmd      *exec.Cmd
	out, err safeBuffer
	stdin    io.WriteCloser
	done     chan error
}

// safeBuffer is written by a program and read by a test at the same time.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// finished is what a run left.
type finished struct {
	stdout, stderr string
	code           int
	evidence       egresswire.Evidence
}

// runTimeout ends a test that hangs.
const runTimeout = 30 * time.Second

// start begins a run of the program with the configuration, in mode tun.
func start(t *testing.T, c egresswire.Config, argv ...string) *running {
	t.Helper()
	c.Mode = egresswire.ModeTUN
	egressEnd, childEnd, err := egresswire.HandoverPair()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, egress: startEgress(t, c, egressEnd), done: make(chan error, 1)}
	r.cmd = exec.Command("/proc/self/exe", argv...)
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte(tun.ResolvConf), 0o644); err != nil {
		t.Fatal(err)
	}
	r.cmd.Env = append(clientEnv(), roleVariable+"="+roleRun, resolvVariable+"="+resolv)
	r.cmd.ExtraFiles = []*os.File{childEnd}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	r.begin()
	childEnd.Close()
	return r
}

// startProxied begins a run in mode proxy, with the proxy variables set. The
// program runs in the host's own namespace: here only the variables lead it.
func startProxied(t *testing.T, c egresswire.Config, argv ...string) *running {
	t.Helper()
	c.Mode = egresswire.ModeProxy
	listener, port, err := egresswire.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, egress: startEgress(t, c, listener), done: make(chan error, 1)}
	proxy := fmt.Sprintf("http://127.0.0.1:%d", port)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(path, argv[1:]...)
	r.cmd.Env = append(clientEnv(), "http_proxy="+proxy, "https_proxy="+proxy, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "NODE_USE_ENV_PROXY=1")
	r.begin()
	return r
}

func (r *running) begin() {
	r.t.Helper()
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.err
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	r.t.Cleanup(r.egress.Kill)
}

func startEgress(t *testing.T, c egresswire.Config, handover *os.File) *egresswire.Process {
	t.Helper()
	if c.Resolver == "" {
		c.Resolver = theWorld.dns
	}
	p, err := egresswire.Start(egresswire.Options{Path: binaryPath(), Config: c, Handover: handover, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Tell(c.Hosts); err != nil {
		t.Fatal(err)
	}
	return p
}

// wait ends the run and returns what it left.
func (r *running) wait() finished {
	r.t.Helper()
	code := 0
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			r.t.Error(err)
		}
	case <-time.After(runTimeout):
		r.cmd.Process.Kill()
		<-r.done
		r.t.Errorf("the run did not end in %s", runTimeout)
	}
	evidence, err := r.egress.Stop(5 * time.Second)
	if err != nil {
		r.t.Errorf("stop: %v", err)
	}
	return finished{r.out.String(), r.err.String(), code, evidence}
}

// clientEnv is the environment of a program under test.
func clientEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
		"NODE_EXTRA_CA_CERTS=" + theWorld.caFile, "SSL_CERT_FILE=" + theWorld.caFile}
}

// clientCommand is this test binary as a program under test. The role is set
// by env, since the run's own is in the environment.
func clientCommand(args ...string) []string {
	self := clientPath(os.Getenv(binaryVariable))
	return append([]string{"env", roleVariable + "=" + roleClient, self}, args...)
}

// runRole runs the test binary in a role and returns what it says.
func runRole(t *testing.T, role string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{roleVariable + "=" + role}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// hosts is the configuration that lists the names.
func hosts(names ...string) egresswire.Config { return egresswire.Config{Hosts: names} }

// refusals formats what was refused for comparison.
func refusals(e egresswire.Evidence) string {
	var out []string
	for _, r := range e.Refused {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Reason, r.Target, r.Detail)))
	}
	return strings.Join(out, "\n")
}

// serveUntilEnd closes the listener when the tests end.
func serveUntilEnd(ctx context.Context, l net.Listener, handle func(net.Conn)) {
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go handle(c)
	}
}
