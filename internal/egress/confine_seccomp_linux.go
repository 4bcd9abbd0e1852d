package egress

import (
	"golang.org/x/sys/unix"

	"skill-mcp/internal/seccomp"
)

// loadFilter leaves the process the system calls it makes and answers the rest
// with EPERM, on every thread. It returns false where no numbers are known for
// this machine.
func loadFilter() (bool, error) {
	arch := seccomp.Native()
	if arch == 0 {
		return false, nil
	}
	program, err := seccomp.Compile(filter(arch))
	if err != nil {
		return false, err
	}
	return true, seccomp.Load(program, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// filter lists what a Go program that only moves bytes between sockets calls.
// A list of what is allowed can be kept here, unlike for a script: the program
// is this one, and a test runs all it does.
func filter(arch seccomp.Arch) seccomp.Filter {
	deny := seccomp.Errno(uint16(unix.EPERM))
	family := func(f uint32) []seccomp.Test { return []seccomp.Test{{Arg: 0, Op: seccomp.Equal, Value: f}} }
	return seccomp.Filter{Arch: arch, Default: deny, Unknown: seccomp.Errno(uint16(unix.ENOSYS)), Rows: []seccomp.Row{
		{Calls: []string{"socket"}, Do: seccomp.Allow, When: family(unix.AF_INET), Why: "connections and questions"},
		{Calls: []string{"socket"}, Do: seccomp.Allow, When: family(unix.AF_INET6), Why: "connections and questions"},
		{Calls: []string{"clone"}, Do: seccomp.Allow, Why: "the runtime's threads",
			When: []seccomp.Test{{Arg: 0, Op: seccomp.Equal, Mask: unix.CLONE_THREAD, Value: unix.CLONE_THREAD}}},
		{Calls: []string{"prctl"}, Do: seccomp.Allow, Why: "the runtime names its mappings",
			When: []seccomp.Test{{Arg: 0, Op: seccomp.Equal, Value: unix.PR_SET_VMA}}},
		{Calls: []string{"clone3"}, Do: seccomp.Errno(uint16(unix.ENOSYS)), Why: "its flags are behind a pointer; callers fall back to clone"},
		{Do: seccomp.Allow, Why: "connections", Calls: []string{
			"accept4", "connect", "getpeername", "getsockname", "getsockopt", "setsockopt", "shutdown",
			"recvfrom", "recvmsg", "sendmsg", "sendto", "sendmmsg", "recvmmsg"}},
		{Do: seccomp.Allow, Why: "bytes and waiting for them", Calls: []string{
			"read", "write", "readv", "writev", "close", "fcntl", "ppoll", "epoll_create1", "epoll_ctl", "epoll_pwait",
			"eventfd2"}},
		{Do: seccomp.Allow, Why: "the resolver's files; Landlock says which", Calls: []string{
			"openat", "fstat", "newfstatat", "statx", "lseek", "pread64"}},
		{Do: seccomp.Allow, Why: "the runtime's memory, threads, clocks and signals", Calls: []string{
			"mmap", "munmap", "mprotect", "madvise", "mincore", "futex", "nanosleep", "clock_gettime", "clock_nanosleep",
			"gettimeofday", "sched_yield", "sched_getaffinity", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
			"sigaltstack", "tgkill", "getpid", "gettid", "getrandom", "restart_syscall", "exit", "exit_group",
			"set_robust_list", "rseq", "membarrier", "getuid", "geteuid", "getgid", "getegid", "uname"}},
		{Calls: legacy(arch), Do: seccomp.Allow, Why: "older forms that this architecture still has"},
	}}
}

// legacy lists calls of the above that one architecture has under its old name.
func legacy(arch seccomp.Arch) []string {
	if arch == seccomp.AMD64 {
		return []string{"poll", "epoll_wait", "arch_prctl", "time"}
	}
	return []string{"epoll_pwait2"}
}
