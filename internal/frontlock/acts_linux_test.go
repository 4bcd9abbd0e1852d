package frontlock

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// front seals itself, tries the acts on threads that were there before and on
// new ones, and reports.
func front(s scenario) {
	early := make(chan func(), s.Early)
	var ready, done sync.WaitGroup
	for range s.Early {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			(<-early)()
		}()
	}
	ready.Wait()
	began := time.Now()
	report, err := Seal(s.Options)
	out := outcome{Report: report, Nanos: time.Since(began).Nanoseconds(), Acts: map[string]string{}, Pid: os.Getpid()}
	if err != nil {
		out.Err = err.Error()
	}
	for _, a := range s.Acts {
		out.Acts[a] = act(a, s)
	}
	var mu sync.Mutex
	for i := range s.Early {
		done.Add(1)
		early <- func() {
			defer done.Done()
			r := act("read-outside", s)
			mu.Lock()
			out.Acts["early-thread-"+strconv.Itoa(i)] = r
			mu.Unlock()
		}
	}
	done.Wait()
	json.NewEncoder(os.Stdout).Encode(out)
	if s.Wait {
		bufio.NewReader(os.Stdin).ReadByte()
	}
}

// result names an outcome: ok or the errno.
func result(err error) string {
	var e unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

// act does one thing that a front does or must not do.
func act(name string, s scenario) string {
	dial := func(network, address string) error {
		c, err := net.DialTimeout(network, address, 5*time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
	switch name {
	case "read-root":
		return result(tryOpen(filepath.Join(s.Options.Roots[0], "skill", "SKILL.md"), 0))
	case "list-root":
		_, err := os.ReadDir(s.Options.Roots[0])
		return result(err)
	case "read-outside":
		return result(tryOpen(s.Outside, 0))
	case "read-secret":
		return result(tryOpen(s.Secret, 0))
	case "read-link-outside":
		return result(tryOpen(filepath.Join(s.Options.Roots[0], "skill", "escape"), 0))
	case "write-root":
		return result(tryOpen(filepath.Join(s.Options.Roots[0], "new"), unix.O_CREAT|unix.O_WRONLY))
	case "write-outside":
		return result(tryOpen(filepath.Join(s.Dir, "new"+strconv.Itoa(os.Getpid())), unix.O_CREAT|unix.O_WRONLY))
	case "write-store":
		return result(os.WriteFile(filepath.Join(s.Options.Write[0], "token"), []byte("x"), 0o600))
	case "rename-store":
		f := filepath.Join(s.Options.Write[0], "token")
		return result(os.Rename(f, f+"2"))
	case "exec":
		return runOther(s.Setuid, "")
	case "exec-setuid":
		text, _ := json.Marshal(scenario{Role: "whoami"})
		return runOther(s.Setuid, string(text))
	case "connect-tcp":
		return result(dial("tcp", s.TCP))
	case "connect-unix":
		return result(dial("unix", s.Socket))
	case "connect-abstract":
		return result(dial("unix", "@"+s.Socket))
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return result(err)
	case "udp":
		return result(dial("udp", s.TCP))
	case "signal":
		return result(unix.Kill(s.Pid, 0))
	}
	return rawAct(name, s)
}

// rawAct does what has no wrapper.
func rawAct(name string, s scenario) string {
	raw := func(nr, a, b, c, d, e uintptr) string {
		r, _, errno := unix.RawSyscall6(nr, a, b, c, d, e, 0)
		if errno != 0 {
			return unix.ErrnoName(errno)
		}
		if nr == unix.SYS_CLONE && r == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return "ok"
	}
	switch name {
	case "ptrace":
		return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Pid), 0, 0, 0)
	case "fork":
		return raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0)
	case "writable-code":
		return raw(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0))
	case "prlimit":
		var l unix.Rlimit
		return raw(unix.SYS_PRLIMIT64, uintptr(s.Pid), unix.RLIMIT_CORE, 0, uintptr(unsafe.Pointer(&l)), 0)
	case "io_uring":
		var p [30]uint64
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&p)), 0, 0, 0)
	case "vsock":
		return raw(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0, 0, 0)
	case "unshare":
		return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0, 0, 0)
	case "setuid-0":
		return raw(unix.SYS_SETRESUID, 0, 0, 0, 0, 0)
	case "kill-other":
		return raw(unix.SYS_TGKILL, uintptr(s.Pid), uintptr(s.Pid), 0, 0, 0)
	}
	return runtimeAct(name)
}

// runtimeAct exercises what the Go runtime needs.
func runtimeAct(name string) string {
	switch name {
	case "threads":
		var wg sync.WaitGroup
		for range 20 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				runtime.LockOSThread() // each needs a thread of its own, which ends with it
				time.Sleep(time.Millisecond)
			}()
		}
		wg.Wait()
		return "ok"
	case "memory":
		var keep [][]byte
		for range 64 {
			keep = append(keep, make([]byte, 1<<20))
		}
		runtime.GC()
		runtime.KeepAlive(keep)
		return "ok"
	case "clock":
		<-time.After(2 * time.Millisecond)
		return "ok"
	case "accept":
		l, err := net.FileListener(os.NewFile(3, "listener"))
		if err != nil {
			return err.Error()
		}
		c, err := l.Accept()
		if err == nil {
			_, err = c.Write([]byte("x"))
			c.Close()
		}
		return result(err)
	}
	return "unknown act " + name
}

// runOther starts another program and gives its first line, or why it could not
// be started.
func runOther(path, scenario string) string {
	r, w, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	p, err := os.StartProcess(path, []string{path, "-test.run=^$"}, &os.ProcAttr{
		Env: []string{scenarioVariable + "=" + scenario}, Files: []*os.File{nil, w, nil},
	})
	w.Close()
	if err != nil {
		return result(err)
	}
	line, _ := bufio.NewReader(r).ReadString('\n')
	p.Wait()
	if scenario == "" {
		return "ok"
	}
	return strings.TrimSpace(line)
}
