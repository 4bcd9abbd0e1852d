package frontlock

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/seccomp"
)

// scenario is what a re-executed child of the tests does.
type scenario struct {
	Role    string   // launch, front, peek, whoami
	Options Options  // for launch and front
	Deny    string   // a call that the kernel around the child answers with DenyAs
	DenyAs  int      // errno
	Acts    []string // what the front tries
	Outside string   // a file outside the roots
	Secret  string   // a root-only file outside the roots
	Setuid  string   // a setuid-root copy of this program
	Dir     string   // a directory everybody may write
	Pid     int      // a decoy of the front's user, or for peek the front
	TCP     string   // the address of a listener
	Socket  string   // the path of a unix listener
	Wait    bool     // the front stays until its stdin ends
	Early   int      // threads the front starts before it seals itself
}

// outcome is what a front reports.
type outcome struct {
	Report Report
	Err    string
	Acts   map[string]string // "ok" or the errno
	Nanos  int64             // what Seal took
	Pid    int
}

const scenarioVariable = "FRONTLOCK_SCENARIO"

// TestMain branches off into the children that take the irreversible steps.
func TestMain(m *testing.M) {
	text := os.Getenv(scenarioVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var s scenario
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fail(err)
	}
	switch s.Role {
	case "launch":
		launch(s)
	case "front":
		front(s)
	case "peek":
		fmt.Println(result(tryOpen(fmt.Sprintf("/proc/%d/mem", s.Pid), 0)))
	case "whoami":
		fmt.Println(os.Geteuid())
	case "decoy":
		bufio.NewReader(os.Stdin).ReadByte()
	}
}

// fail ends a child that could not do its part of the test.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

// launch does what the launch phase does: choose, drop, execute the front.
func launch(s scenario) {
	runtime.LockOSThread()
	if s.Deny != "" {
		degrade(s)
	}
	id := Choose(s.Options)
	if err := Drop(id, s.Options); err != nil {
		fail(err)
	}
	s.Role = "front"
	text, _ := json.Marshal(s)
	fail(syscall.Exec("/proc/self/exe", []string{"front"}, []string{scenarioVariable + "=" + string(text)}))
}

// degrade puts this thread, and what it executes, into a kernel without a call.
func degrade(s scenario) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fail(err)
	}
	p, err := seccomp.Compile(seccomp.Filter{
		Arch: seccomp.Native(), Default: seccomp.Allow, Unknown: seccomp.Allow,
		Rows: []seccomp.Row{{Calls: []string{s.Deny}, Do: seccomp.Errno(uint16(s.DenyAs)), Why: "an older kernel"}},
	})
	if err == nil {
		err = seccomp.Load(p, 0)
	}
	if err != nil {
		fail(err)
	}
}

// start runs a child with a scenario as a user; its output is one JSON line.
func start(t *testing.T, s scenario, uid int) outcome {
	t.Helper()
	cmd := child(t, s, uid)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child: %v\n%s%s", err, out, stderrOf(err))
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("child said %q: %v", out, err)
	}
	return o
}

// stderrOf gives what a failed child wrote.
func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

// child prepares a child as a user, from a copy that every user may execute.
func child(t *testing.T, s scenario, uid int) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copyOf(t, 0o755))
	cmd.Env = []string{scenarioVariable + "=" + string(text)}
	cmd.Dir = "/"
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// copyOf gives a copy of the test binary that other users can reach.
func copyOf(t *testing.T, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(public(t), "front.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(file, text, 0o755)
	}
	if err == nil {
		err = os.Chmod(file, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// public gives a directory that every user may enter and read.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "frontlock")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
