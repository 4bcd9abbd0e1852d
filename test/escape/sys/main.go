//go:build linux

// Command sys makes raw system calls that a run must not make and prints how
// each was answered, as one JSON line. The escape tests build it and name it as
// an interpreter, so that it runs inside the fence like node does.
package main

import (
	"encoding/json"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// act is one system call with its arguments.
type act struct {
	name string
	nr   uintptr
	args [6]uintptr
}

func main() {
	var in struct {
		Monitor int `json:"monitor"`
		Front   int `json:"front"`
	}
	if len(os.Args) < 3 || json.Unmarshal([]byte(os.Args[2]), &in) != nil {
		println("sys 1.0") // asked for its version, outside the fence: attacks nobody
		return
	}
	out := map[string]string{}
	parent := os.Getppid()
	if parent == 0 { // the parent is outside the run's processes
		parent = 1
	}
	for _, a := range acts(uintptr(in.Monitor), uintptr(parent)) {
		r, _, e := unix.RawSyscall6(a.nr, a.args[0], a.args[1], a.args[2], a.args[3], a.args[4], a.args[5])
		if e == 0 && r == 0 && (a.nr == unix.SYS_CLONE || a.nr == unix.SYS_CLONE3) { // the new process
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		out[a.name] = "ok"
		if e != 0 {
			out[a.name] = unix.ErrnoName(e)
		}
	}
	fds := map[string]string{}
	for fd := 3; fd < 1024; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			fds[strconv.Itoa(fd)], _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"probe": "sys", "acts": out, "fds": fds})
}

// What the kernel may read or write; in package variables, since addresses are
// passed as numbers.
var (
	zero     [512]byte
	vector   = unix.Iovec{Base: &zero[0], Len: 8}
	cpuLimit = unix.Rlimit{Cur: 1, Max: 1}

	onlyFirst uint64  = 1
	kept      []*byte // paths, as long as the calls need them
)

// of gives the address of the path of a process's file.
func of(pid uintptr, name string) uintptr {
	p, _ := unix.BytePtrFromString("/proc/" + strconv.Itoa(int(pid)) + "/" + name) // no NUL in it
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// acts are the calls. monitor is outside the run, parent may be its init.
func acts(monitor, parent uintptr) []act {
	mem := uintptr(unsafe.Pointer(&zero))
	iov := uintptr(unsafe.Pointer(&vector))
	name := uintptr(unsafe.Pointer(unsafe.StringData("user\x00")))
	root := uintptr(unsafe.Pointer(unsafe.StringData("/\x00")))
	limit := uintptr(unsafe.Pointer(&cpuLimit))
	return []act{
		{"open monitor mem", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "mem"), unix.O_RDWR}},
		{"open monitor environ", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "environ"), unix.O_RDONLY}},
		{"open monitor descriptors", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "fd"), unix.O_RDONLY | unix.O_DIRECTORY}},
		{"open monitor oom_score_adj", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "oom_score_adj"), unix.O_WRONLY}},
		{"open monitor timerslack", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "timerslack_ns"), unix.O_WRONLY}},
		{"open monitor root", unix.SYS_OPENAT, [6]uintptr{0, of(monitor, "root/etc"), unix.O_RDONLY | unix.O_DIRECTORY}},
		{"clone3", unix.SYS_CLONE3, [6]uintptr{mem, 88}},
		{"clone newuser", unix.SYS_CLONE, [6]uintptr{unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)}},
		{"clone newns upper bits", unix.SYS_CLONE, [6]uintptr{unix.CLONE_NEWNS | 1<<40 | uintptr(unix.SIGCHLD)}},
		{"unshare user", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		{"unshare mount", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNS}},
		{"setns", unix.SYS_SETNS, [6]uintptr{0, 0}},
		{"mount", unix.SYS_MOUNT, [6]uintptr{name, root, name}},
		{"umount", unix.SYS_UMOUNT2, [6]uintptr{root, unix.MNT_DETACH}},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{root}},
		{"fsopen", unix.SYS_FSOPEN, [6]uintptr{name}},
		{"open_tree", unix.SYS_OPEN_TREE, [6]uintptr{^uintptr(99), root, 1}},
		{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{0, mem}},
		{"io_uring_setup", unix.SYS_IO_URING_SETUP, [6]uintptr{1, mem}},
		{"keyctl", unix.SYS_KEYCTL, [6]uintptr{0, ^uintptr(2), 1}},
		{"add_key", unix.SYS_ADD_KEY, [6]uintptr{name, name, mem, 1, ^uintptr(2)}},
		{"request_key", unix.SYS_REQUEST_KEY, [6]uintptr{name, name}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{1}},
		{"bpf", unix.SYS_BPF, [6]uintptr{0, mem, 64}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{mem, 0, ^uintptr(0), ^uintptr(0)}},
		{"ptrace monitor", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_SEIZE, monitor}},
		{"ptrace parent", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_SEIZE, parent}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, [6]uintptr{parent, iov, 1, iov, 1}},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, [6]uintptr{0, 0}},
		{"kcmp", unix.SYS_KCMP, [6]uintptr{parent, parent}},
		{"prlimit monitor", unix.SYS_PRLIMIT64, [6]uintptr{monitor, unix.RLIMIT_CPU, limit}},
		{"prlimit parent", unix.SYS_PRLIMIT64, [6]uintptr{parent, unix.RLIMIT_CPU, limit}},
		{"prlimit parent upper bits", unix.SYS_PRLIMIT64, [6]uintptr{parent | 1<<32, unix.RLIMIT_CPU, limit}},
		{"sched_setaffinity parent", unix.SYS_SCHED_SETAFFINITY, [6]uintptr{parent, 8, mem}},
		{"setpriority user", unix.SYS_SETPRIORITY, [6]uintptr{2, 0, 19}},
		{"ioprio_set parent", unix.SYS_IOPRIO_SET, [6]uintptr{1, parent, 0x6000}},
		{"kill monitor", unix.SYS_KILL, [6]uintptr{monitor, 0}},
		{"tgkill monitor", unix.SYS_TGKILL, [6]uintptr{monitor, monitor, 0}},
		{"tkill monitor", unix.SYS_TKILL, [6]uintptr{monitor, 0}},
		{"process_vm_writev monitor", unix.SYS_PROCESS_VM_WRITEV, [6]uintptr{monitor, iov, 1, iov, 1}},
		{"process_vm_readv monitor", unix.SYS_PROCESS_VM_READV, [6]uintptr{monitor, iov, 1, iov, 1}},
		{"kcmp monitor", unix.SYS_KCMP, [6]uintptr{monitor, monitor}},
		{"sched_setaffinity monitor", unix.SYS_SCHED_SETAFFINITY, [6]uintptr{monitor, 8, uintptr(unsafe.Pointer(&onlyFirst))}},
		{"sched_setscheduler monitor", unix.SYS_SCHED_SETSCHEDULER, [6]uintptr{monitor, unix.SCHED_IDLE, mem}},
		{"setpriority monitor", unix.SYS_SETPRIORITY, [6]uintptr{0, monitor, 19}},
		{"ioprio_set monitor", unix.SYS_IOPRIO_SET, [6]uintptr{1, monitor, 0x6000}},
		{"migrate_pages monitor", unix.SYS_MIGRATE_PAGES, [6]uintptr{monitor, 1, mem, mem}},
		{"socket sctp", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM, 132}},
		{"socket smc", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM, 256}},
		{"socket vsock", unix.SYS_SOCKET, [6]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM}},
		{"socket vsock upper bits", unix.SYS_SOCKET, [6]uintptr{unix.AF_VSOCK | 1<<32, unix.SOCK_STREAM}},
		{"socket netlink", unix.SYS_SOCKET, [6]uintptr{unix.AF_NETLINK, unix.SOCK_RAW}},
		{"socket packet", unix.SYS_SOCKET, [6]uintptr{unix.AF_PACKET, unix.SOCK_RAW}},
		{"socket alg", unix.SYS_SOCKET, [6]uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET}},
		{"socket raw", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_RAW, 1}},
		{"socket mptcp", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM, 262}},
		{"socket udp", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_DGRAM}},
		{"sendto fastopen", unix.SYS_SENDTO, [6]uintptr{0, mem, 1, 0x20000000, mem, 16}},
		{"tiocsti", unix.SYS_IOCTL, [6]uintptr{0, 0x5412, mem}},
		{"tiocsti upper bits", unix.SYS_IOCTL, [6]uintptr{0, 0x5412 | 1<<32, mem}},
		{"personality", unix.SYS_PERSONALITY, [6]uintptr{0x0040000}},
		{"setresuid 0", unix.SYS_SETRESUID, [6]uintptr{0, 0, 0}},
		{"unknown call", 9999, [6]uintptr{}},
		{"control getpid", unix.SYS_GETPID, [6]uintptr{}},
		{"control prlimit self", unix.SYS_PRLIMIT64, [6]uintptr{0, unix.RLIMIT_NOFILE, 0, mem}},
		{"control memfd", unix.SYS_MEMFD_CREATE, [6]uintptr{name}},
		{"control socketpair", unix.SYS_SOCKETPAIR, [6]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, mem}},
	}
}
