package frontlock

import "skill-mcp/internal/seccomp"

// The errnos of the filter (asm-generic/errno.h). EPERM says that a forbidden
// act was seen. ENOSYS lets the runtime fall back where a call is merely not on
// the list.
const (
	errnoPerm  = 1
	errnoNoSys = 38
)

// What the arguments of the tests below mean.
const (
	cloneThread = 0x00010000 // CLONE_THREAD
	protExec    = 0x4        // PROT_EXEC
	opensWrite  = 0x1 | 0x2 | 0x40 | 0x200
	prSetVMA    = 0x53564d41 // PR_SET_VMA: the runtime names its memory
	tcgets      = 0x5401     // isatty
	tiocgwinsz  = 0x5413     // the width of a terminal
)

// shape is what the list depends on.
type shape struct {
	pid    int  // the front's own
	write  bool // it makes files somewhere
	accept bool // it accepts connections
}

// filter is an allow-list: the front parses what strangers wrote, its calls are
// few, and the Go runtime that makes them is pinned in go.mod.
func filter(arch seccomp.Arch, s shape) seccomp.Filter {
	f := seccomp.Filter{
		Arch: arch, Default: seccomp.Errno(errnoNoSys), Unknown: seccomp.Errno(errnoNoSys),
		Rows: append(denied(), conditional(s)...),
	}
	f.Rows = append(f.Rows, plain()...)
	if s.write {
		f.Rows = append(f.Rows, seccomp.Row{
			Calls: []string{"mkdirat", "mkdir", "unlinkat", "unlink", "rmdir", "renameat", "renameat2", "rename",
				"ftruncate", "fallocate", "fchmod", "link", "linkat", "fdatasync"},
			Do: seccomp.Allow, Why: "the store of spent tokens; Landlock keeps them inside it",
		})
	}
	if s.accept {
		f.Rows = append(f.Rows, seccomp.Row{
			Calls: []string{"accept4", "accept"}, Do: seccomp.Allow, Why: "the socket that launch opened takes connections",
		})
	}
	return f
}

// denied names the acts a taken-over front would try first, so that they are
// answered with EPERM whatever the default is.
func denied() []seccomp.Row {
	no := seccomp.Errno(errnoPerm)
	return []seccomp.Row{
		{Calls: []string{"execve", "execveat", "fork", "vfork"}, Do: no, Why: "it never starts a program"},
		{Calls: []string{"socket", "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg"}, Do: no,
			Why: "no socket but those that are open, and nothing sent to an address"},
		{Calls: []string{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "pidfd_open", "kcmp", "process_madvise"}, Do: no,
			Why: "it looks into no process"},
		{Calls: []string{"mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_by_handle_at", "fsopen", "move_mount", "open_tree"}, Do: no,
			Why: "its view of the files stays"},
		{Calls: []string{"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups", "capset"}, Do: no,
			Why: "it stays who it is"},
		{Calls: []string{"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "io_uring_setup"}, Do: no,
			Why: "large parts of the kernel that it has no use for; a ring would pass by this filter"},
		{Calls: []string{"clone"}, When: []seccomp.Test{{Arg: 0, Op: seccomp.Equal, Mask: cloneThread, Value: 0}}, Do: no,
			Why: "the runtime starts threads, never processes"},
		{Calls: []string{"mmap", "mprotect", "pkey_mprotect"}, When: []seccomp.Test{{Arg: 2, Op: seccomp.AnyBit, Mask: protExec}}, Do: no,
			Why: "no memory becomes a program"},
	}
}

// conditional are the calls that are allowed with some arguments only.
func conditional(s shape) []seccomp.Row {
	rows := []seccomp.Row{}
	if !s.write {
		rows = append(rows, seccomp.Row{
			Calls: []string{"openat"}, When: []seccomp.Test{{Arg: 2, Op: seccomp.AnyBit, Mask: opensWrite}}, Do: seccomp.Errno(errnoPerm),
			Why: "it makes no file; holds without Landlock too",
		})
		rows = append(rows, seccomp.Row{
			Calls: []string{"open"}, When: []seccomp.Test{{Arg: 1, Op: seccomp.AnyBit, Mask: opensWrite}}, Do: seccomp.Errno(errnoPerm),
			Why: "the older form of the same",
		})
	}
	equal := func(arg int, value uint32) []seccomp.Test {
		return []seccomp.Test{{Arg: arg, Op: seccomp.Equal, Value: value}}
	}
	rows = append(rows,
		seccomp.Row{Calls: []string{"tgkill", "kill"}, When: equal(0, uint32(s.pid)), Do: seccomp.Allow, Why: "the runtime signals its own threads, and itself to die"},
		seccomp.Row{Calls: []string{"prlimit64"}, When: equal(0, 0), Do: seccomp.Allow, Why: "its own limits; another process has a pid"},
		seccomp.Row{Calls: []string{"prctl"}, When: equal(0, prSetVMA), Do: seccomp.Allow, Why: "the runtime names its memory"},
	)
	for _, request := range []uint32{tcgets, tiocgwinsz} {
		rows = append(rows, seccomp.Row{Calls: []string{"ioctl"}, When: equal(1, request), Do: seccomp.Allow, Why: "is a descriptor a terminal"})
	}
	for _, command := range fcntls() {
		rows = append(rows, seccomp.Row{Calls: []string{"fcntl"}, When: equal(1, command), Do: seccomp.Allow, Why: "flags, copies and locks of descriptors; no signals by F_SETOWN"})
	}
	return rows
}

// fcntls are the commands of fcntl that are used: F_DUPFD, F_GETFD, F_SETFD,
// F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC, F_SETPIPE_SZ,
// F_GETPIPE_SZ, F_GET_SEALS and the three open-file locks.
func fcntls() []uint32 {
	return []uint32{0, 1, 2, 3, 4, 5, 6, 7, 1030, 1031, 1032, 1034, 36, 37, 38}
}

// plain are the calls that are allowed with any argument.
func plain() []seccomp.Row {
	yes := seccomp.Allow
	return []seccomp.Row{
		{Calls: []string{"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek", "close", "close_range",
			"dup", "dup2", "dup3", "fsync", "flock", "sendfile", "readahead", "fadvise64"}, Do: yes, Why: "descriptors that are open"},
		{Calls: []string{"openat", "openat2", "open", "newfstatat", "fstat", "stat", "lstat", "statx", "statfs", "fstatfs", "getdents64", "readlinkat", "readlink",
			"faccessat", "faccessat2", "access", "getcwd"}, Do: yes, Why: "skills are read; Landlock says which files"},
		{Calls: []string{"inotify_init1", "inotify_add_watch", "inotify_rm_watch"}, Do: yes, Why: "roots are watched when the owner asks for it"},
		{Calls: []string{"mmap", "mprotect", "munmap", "mremap", "madvise", "brk", "mincore"}, Do: yes, Why: "memory of the runtime"},
		{Calls: []string{"clone", "futex", "futex_waitv", "set_robust_list", "set_tid_address", "rseq", "exit", "exit_group", "membarrier",
			"sched_yield", "sched_getaffinity", "getcpu", "gettid", "restart_syscall"}, Do: yes, Why: "threads of the runtime"},
		{Calls: []string{"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack"}, Do: yes, Why: "signals it receives"},
		{Calls: []string{"nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "timer_create", "timer_settime", "timer_gettime",
			"timer_delete", "setitimer", "getitimer"}, Do: yes, Why: "clocks and deadlines"},
		{Calls: []string{"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2", "pipe2", "poll", "ppoll", "select", "pselect6"}, Do: yes,
			Why: "waiting for descriptors"},
		{Calls: []string{"getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid", "capget", "getrusage", "getrlimit",
			"times", "uname", "sysinfo", "getrandom"}, Do: yes, Why: "questions about itself"},
		{Calls: []string{"getsockname", "getpeername", "getsockopt", "setsockopt", "shutdown", "recvfrom", "recvmsg"}, Do: yes,
			Why: "the socket to the monitor, and accepted connections"},
	}
}
