package egress

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/seccomp"
)

// posture is what the kernel says of a process, one value for each thread.
type posture struct {
	UID, NoNewPrivs, Seccomp, CapEff, CapPrm, CapInh, CapAmb string
}

func TestProcessIsConfined(t *testing.T) {
	r := start(t, hosts("api.example.test"), "curl", "-sS", "http://api.example.test/")
	ready, err := r.egress.WaitReady(runTimeout)
	if err != nil {
		t.Fatal(err)
	}
	uid := nobody
	if os.Getenv(userVariable) != "" {
		uid = 0 // the one user of its namespace, without a capability
	}
	none := "0000000000000000"
	want := posture{fmt.Sprintf("%d %[1]d %[1]d %[1]d", uid), "1", "2", none, none, none, none}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", r.egress.PID()))
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%d threads: %v", len(tasks), err)
	}
	for _, task := range tasks {
		if got := postureOf(t, r.egress.PID(), task.Name()); got != want {
			t.Errorf("thread %s: %+v, want %+v", task.Name(), got, want)
		}
	}
	if ready.UID != uid || !ready.Seccomp || ready.LandlockABI < 1 {
		t.Errorf("ready %+v", ready)
	}
	for what, most := range processLimits() {
		soft, hard := limitOf(t, r.egress.PID(), what)
		if soft > most || hard > most {
			t.Errorf("%s: %d, %d, want %d", what, soft, hard, most)
		}
	}
	// The files of a process that is not dumpable belong to root.
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/environ", r.egress.PID()), &st); err != nil || (uid == nobody && st.Uid != 0) {
		t.Errorf("environ belongs to %d: %v", st.Uid, err)
	}
	if got := r.wait(); got.stdout != "hello api.example.test /" {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
}

// processLimits are what the kernel must hold the process to, as
// /proc/PID/limits names them.
func processLimits() map[string]uint64 {
	l := egresswire.DefaultLimits()
	return map[string]uint64{
		"Max open files": uint64(4*(l.Connections+l.HalfOpen) + 64), "Max data size": uint64(l.MemoryBytes)*2 + 64<<20,
		"Max core file size": 0, "Max file size": 0, "Max locked memory": 0,
	}
}

// limitOf reads one limit; one that is not there is the largest.
func limitOf(t *testing.T, pid int, what string) (soft, hard uint64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	soft, hard = 1<<63, 1<<63
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, what+" "); ok {
			_, _ = fmt.Sscan(rest, &soft, &hard) // "unlimited" is not read
		}
	}
	return soft, hard
}

func postureOf(t *testing.T, pid int, task string) posture {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task))
	if err != nil {
		t.Fatal(err)
	}
	field := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		name, value, _ := strings.Cut(line, ":")
		field[name] = strings.Join(strings.Fields(value), " ")
	}
	return posture{field["Uid"], field["NoNewPrivs"], field["Seccomp"], field["CapEff"], field["CapPrm"], field["CapInh"], field["CapAmb"]}
}

// TestConfinedProcessCannot tries, in a process confined like the real one,
// what it has no use for, and one thing it needs as the control.
func TestConfinedProcessCannot(t *testing.T) {
	out := runRole(t, roleConfined)
	want := "open /etc/passwd: permission denied\nwrite /tmp: permission denied\nopen /etc/resolv.conf: ok\nbind TCP: operation not permitted\n" +
		"connect TCP to a listed port: ok\nconnect TCP to another port: permission denied\n" +
		"unix socket: operation not permitted\nexec: operation not permitted\nfork: operation not permitted\nsetuid 0: operation not permitted\n" +
		"kill parent: operation not permitted\nptrace: operation not permitted\nunshare: operation not permitted\nprlimit: operation not permitted\nclone3: function not implemented\n"
	if out != want {
		t.Errorf("got:\n%swant:\n%s", out, want)
	}
}

// tryForbidden is the program of role confined.
func tryForbidden() error {
	port := uint16(80)
	c := egresswire.Config{Mode: egresswire.ModeTUN, Ports: []uint16{port}}
	if _, err := confine(c); err != nil {
		return err
	}
	say := func(what string, err error) {
		word := "ok"
		if errno, is := err.(unix.Errno); is && errno != 0 {
			word = errno.Error()
		}
		fmt.Printf("%s: %s\n", what, word)
	}
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags, 0o600)
		unix.Close(fd)
		return err
	}
	call := func(n uintptr, args ...uintptr) error {
		args = append(args, 0, 0, 0)
		_, _, errno := unix.Syscall(n, args[0], args[1], args[2])
		return errno
	}
	say("open /etc/passwd", open("/etc/passwd", unix.O_RDONLY))
	say("write /tmp", open("/tmp/egress-test-file", unix.O_CREAT|unix.O_WRONLY))
	say("open /etc/resolv.conf", open("/etc/resolv.conf", unix.O_RDONLY))
	say("bind TCP", onSocket(func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) }))
	say("connect TCP to a listed port", onSocket(func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	}))
	say("connect TCP to another port", onSocket(func(fd int) error {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: 7, Addr: [4]byte{127, 0, 0, 1}})
	}))
	_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	say("unix socket", err)
	say("exec", unix.Exec("/bin/true", []string{"true"}, nil))
	say("fork", call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)))
	say("setuid 0", call(unix.SYS_SETUID))
	say("kill parent", unix.Kill(os.Getppid(), 0))
	say("ptrace", call(unix.SYS_PTRACE))
	say("unshare", unix.Unshare(unix.CLONE_NEWUSER))
	say("prlimit", call(unix.SYS_PRLIMIT64, uintptr(os.Getpid())))
	say("clone3", call(unix.SYS_CLONE3))
	return nil
}

// onSocket tries something on a fresh TCP socket. bind is not among the calls
// the process has, and so answers before Landlock does.
func onSocket(try func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return try(fd)
}

func TestFilterCompilesForEveryArchitecture(t *testing.T) {
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		program, err := seccomp.Compile(filter(arch))
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := seccomp.Numbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"execve", "execveat", "ptrace", "bpf", "keyctl", "io_uring_setup", "mount", "setns", "kill", "bind", "listen"} {
			action, err := seccomp.Run(program, seccomp.Data{Nr: uint32(numbers[name]), Arch: arch})
			if err != nil || action != seccomp.Errno(uint16(unix.EPERM)) {
				t.Errorf("%s on %#x: %#x, %v", name, arch, action, err)
			}
		}
	}
}
