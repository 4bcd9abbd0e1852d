// Command probe is what the fence's tests run instead of a script. Its first
// argument is the script's path and not used; each further one is an act, of
// which it prints the outcome as `act<TAB>ok` or `act<TAB>ERRNO`.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	for _, act := range os.Args[2:] {
		verb, rest, _ := strings.Cut(act, ":")
		do, ok := acts[verb]
		if !ok {
			fmt.Printf("%s\tno such act\n", act)
			continue
		}
		fmt.Printf("%s\t%s\n", act, do(rest))
	}
}

func word(err error) string {
	if err == nil {
		return "ok"
	}
	for e := err; e != nil; {
		if errno, ok := e.(syscall.Errno); ok {
			return unix.ErrnoName(errno)
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	return err.Error()
}

func call(nr uintptr, args ...uintptr) string {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return unix.ErrnoName(errno)
	}
	return "ok"
}

func number(s string) int {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

func open(path string, flags int) string {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return word(err)
}

var acts = map[string]func(string) string{
	"read":  func(p string) string { return open(p, unix.O_RDONLY) },
	"write": func(p string) string { return open(p, unix.O_WRONLY|unix.O_CREAT) },
	"stat":  func(p string) string { return word(unix.Stat(p, new(unix.Stat_t))) },
	"segment": func(string) string {
		id, _, err := unix.Syscall(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT)
		if err == 0 {
			unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
			return "ok"
		}
		return word(err)
	},
	"setid": func(p string) string {
		if err := os.WriteFile(p, []byte("x"), 0o755); err != nil {
			return word(err)
		}
		return word(unix.Chmod(p, 0o4755))
	},
	"rename": func(p string) string { return word(os.Rename(p, p+".away")) },
	"link": func(p string) string { // link:TARGET=AT
		to, at, _ := strings.Cut(p, "=")
		return word(os.Symlink(to, at))
	},
	"chmod":  func(p string) string { return word(unix.Chmod(p, 0o755)) },
	"list":   list,
	"cat":    func(p string) string { b, err := os.ReadFile(p); return word(err) + " " + strconv.Quote(string(b)) },
	"exec":   func(p string) string { return word(exec.Command(p).Start()) },
	"script": copyAndRun,
	"kill":   func(p string) string { return word(unix.Kill(number(p), 0)) },
	"prlimit": func(p string) string {
		return word(unix.Prlimit(number(p), unix.RLIMIT_CPU, nil, new(unix.Rlimit)))
	},
	"setprio":  func(p string) string { return word(unix.Setpriority(unix.PRIO_PROCESS, number(p), 19)) },
	"affinity": func(p string) string { return word(unix.SchedSetaffinity(number(p), &unix.CPUSet{1})) },
	"trace":    func(p string) string { return word(unix.PtraceAttach(number(p))) },
	"socket": func(p string) string {
		f := strings.Split(p, ",")
		fd, err := unix.Socket(number(f[0]), number(f[1]), number(f[2]))
		if err == nil {
			unix.Close(fd)
		}
		return word(err)
	},
	"bind":   bind,
	"listen": listenUnbound,
	"connect": func(p string) string {
		c, err := net.DialTimeout("tcp4", p, time.Second)
		closeIt(c, err)
		return word(err)
	},
	"abstract": func(p string) string { c, err := net.Dial("unix", "@"+p); closeIt(c, err); return word(err) },
	"unix":     func(p string) string { c, err := net.Dial("unix", p); closeIt(c, err); return word(err) },
	"fastopen": fastopen,
	"unshare":  func(p string) string { return call(unix.SYS_UNSHARE, uintptr(number(p))) },
	"mount":    func(string) string { return word(unix.Mount("x", "/tmp", "tmpfs", 0, "")) },
	"chroot":   func(string) string { return word(unix.Chroot("/")) },
	"keyctl":   func(string) string { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1) },
	"session": func(string) string {
		n, err := unix.KeyctlInt(unix.KEYCTL_READ, unix.KEY_SPEC_SESSION_KEYRING, 0, 0, 0)
		return fmt.Sprint(n, " ", word(err))
	},
	"call":    func(p string) string { return call(uintptr(number(p))) },
	"persona": func(string) string { return call(unix.SYS_PERSONALITY, 0x40000) },
	"tiocsti": func(string) string {
		b := byte('x')
		return call(unix.SYS_IOCTL, 0, 0xff00005412, uintptr(unsafe.Pointer(&b)))
	},
	"int80":   func(string) string { return "not tried" },
	"setuid":  func(p string) string { u := uintptr(number(p)); return call(unix.SYS_SETRESUID, u, u, u) },
	"capset":  func(string) string { return capset() },
	"shm":     func(p string) string { _, err := unix.SysvShmGet(number(p), 0, 0); return word(err) },
	"umask":   func(string) string { return fmt.Sprintf("%#o", unix.Umask(0)) },
	"host":    func(string) string { n, _ := os.Hostname(); return n },
	"sethost": func(string) string { return word(unix.Sethostname([]byte("x"))) },
	"sid": func(string) string {
		s, _ := unix.Getsid(0)
		return fmt.Sprint(s == os.Getpid(), " ", unix.Getpgrp() == os.Getpid())
	},
	"pid":     func(string) string { return fmt.Sprint(os.Getpid(), " ", os.Getppid()) },
	"cwd":     func(string) string { d, err := os.Getwd(); return word(err) + " " + d },
	"env":     func(string) string { e := os.Environ(); sort.Strings(e); return strings.Join(e, " ") },
	"args":    func(string) string { return strings.Join(os.Args, " ") },
	"fds":     fds,
	"signals": func(string) string { return status("SigBlk", "SigIgn") },
	"status":  func(p string) string { return status(strings.Split(p, ",")...) },
	"limits": func(string) string {
		b, err := os.ReadFile("/proc/self/limits")
		return word(err) + " " + strconv.Quote(string(b))
	},
	"files": func(p string) string { return manyFiles(number(p)) },
	"size":  func(p string) string { return bigFile(p) },
	"many":  func(p string) string { return manyInodes(number(p)) },
	"eat":   func(p string) string { return eat(number(p)) },
	"forks": func(p string) string { return forks(number(p)) },
	"spin": func(p string) string {
		end := time.Now().Add(time.Duration(number(p)) * time.Millisecond)
		for time.Now().Before(end) {
		}
		return "ok"
	},
	"sleep":  func(p string) string { time.Sleep(time.Duration(number(p)) * time.Millisecond); return "ok" },
	"deaf":   func(string) string { signal.Ignore(syscall.SIGTERM); return "ok" },
	"orphan": orphan,
	"exit":   func(p string) string { os.Exit(number(p)); return "" },
	"die": func(p string) string {
		unix.Kill(os.Getpid(), syscall.Signal(number(p)))
		time.Sleep(time.Second)
		return "alive"
	},
	"killns": func(string) string {
		r := ""
		for s := 1; s < 32; s++ {
			r += word(unix.Kill(1, syscall.Signal(s))) + " "
		}
		return r
	},
	"devs": func(string) string { return list("/dev") },
}

func closeIt(c interface{ Close() error }, err error) {
	if err == nil {
		c.Close()
	}
}

func list(dir string) string {
	entries, err := os.ReadDir(dir)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return word(err) + " " + strings.Join(names, " ")
}

// copyAndRun puts an executable where the run may write, and starts it.
func copyAndRun(dir string) string {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return word(err)
	}
	at := filepath.Join(dir, "copy")
	if err := os.WriteFile(at, b, 0o700); err != nil {
		return word(err)
	}
	return word(exec.Command(at).Run())
}

func fastopen(port string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return word(err)
	}
	return word(unix.Sendto(fd, []byte("x"), 0x20000000, &unix.SockaddrInet4{Port: number(port), Addr: [4]byte{127, 0, 0, 1}}))
}

// bind is plain TCP: net.Listen would ask for multipath TCP first.
func bind(string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return word(err)
	}
	return word(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
}

// listenUnbound has the kernel choose a port: there is no bind to refuse.
func listenUnbound(string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return word(err)
	}
	return word(unix.Listen(fd, 1))
}

func capset() string {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	d := [2]unix.CapUserData{{Effective: 1 << unix.CAP_CHOWN, Permitted: 1 << unix.CAP_CHOWN}}
	return word(unix.Capset(&h, &d[0]))
}

func fds(string) string {
	out := []string{}
	for fd := 0; fd < 4096; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			out = append(out, strconv.Itoa(fd))
		}
	}
	return strings.Join(out, " ")
}

func status(keys ...string) string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return word(err)
	}
	out := []string{}
	for _, k := range keys {
		for _, l := range strings.Split(string(b), "\n") {
			if v, ok := strings.CutPrefix(l, k+":"); ok {
				out = append(out, k+"="+strings.Join(strings.Fields(v), ","))
			}
		}
	}
	return strings.Join(out, " ")
}

func manyFiles(n int) string {
	for i := 0; i < n; i++ {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return word(err)
		}
	}
	return "ok"
}

// bigFile writes BYTES to PATH.
func bigFile(p string) string {
	signal.Ignore(syscall.SIGXFSZ)
	path, size, _ := strings.Cut(p, "=")
	f, err := os.Create(path)
	if err != nil {
		return word(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for left := number(size); left > 0; left -= len(block) {
		if _, err := f.Write(block); err != nil {
			return word(err)
		}
	}
	return "ok"
}

func manyInodes(n int) string {
	for i := 0; i < n; i++ {
		fd, err := unix.Open(filepath.Join(os.TempDir(), "f"+strconv.Itoa(i)), unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			return word(err)
		}
		unix.Close(fd)
	}
	return "ok"
}

// eat touches N MiB.
func eat(n int) string {
	for i := 0; i < n; i++ {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return word(err)
		}
		for j := 0; j < len(b); j += 4096 {
			b[j] = 1
		}
	}
	return "ok"
}

// forks starts sleeping copies until one is refused.
func forks(n int) string {
	for i := 0; i < n; i++ {
		if err := exec.Command("/proc/self/exe", "x", "sleep:20000").Start(); err != nil {
			return word(err)
		}
	}
	return "ok"
}

// orphan leaves a process in a session of its own that holds the output.
func orphan(ms string) string {
	c := exec.Command("/proc/self/exe", "x", "deaf", "sleep:"+ms)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return word(c.Start())
}
