package spawn

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/seccomp"
)

// Answers of the filter. A call that a libc may try first and do without is
// answered as an old kernel would; the rest as a denial.
const (
	noCall   = seccomp.Action(0x00050000 | uint32(unix.ENOSYS))
	denied   = seccomp.Action(0x00050000 | uint32(unix.EPERM))
	noFamily = seccomp.Action(0x00050000 | uint32(unix.EAFNOSUPPORT))
	noProto  = seccomp.Action(0x00050000 | uint32(unix.EPROTONOSUPPORT))
)

// newFlags are the namespace bits of clone and unshare. CLONE_NEWTIME is left
// out: in clone it shares its bit with the exit signal, and clone refuses it.
const newFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Arguments that headers name and x/sys does not.
const (
	msgFastopen  = 0x20000000
	tcpULP       = 31
	tiocsti      = 0x5412
	tioclinux    = 0x541c
	prioProcess  = 0
	ioprioWhoPid = 1 // IOPRIO_WHO_PROCESS

	setIDs  = unix.S_ISUID | unix.S_ISGID
	creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY // open reads a mode only with one of these
)

func is(arg int, v uint32) seccomp.Test { return seccomp.Test{Arg: arg, Op: seccomp.Equal, Value: v} }
func not(arg int, v uint32) seccomp.Test {
	return seccomp.Test{Arg: arg, Op: seccomp.NotEqual, Value: v}
}
func bits(arg int, mask uint32) seccomp.Test {
	return seccomp.Test{Arg: arg, Op: seccomp.AnyBit, Mask: mask}
}

// kind tests the type of a socket, without the flags that share the argument.
func kind(op seccomp.Op, v uint32) seccomp.Test {
	return seccomp.Test{Arg: 1, Op: op, Mask: 0xf, Value: v}
}

// always are the rows of every run: a deny-list that node 20 to 26 survive
// with an unchanged result (a list of allowed calls breaks with every libc).
func always() []seccomp.Row {
	return []seccomp.Row{
		{Calls: []string{"clone3"}, Do: noCall, Why: "its flags are behind a pointer; libc falls back to clone, EPERM would end node"},
		{Calls: []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}, Do: noCall, Why: "a ring makes calls no filter sees; node 22 asks for one at start and must not be killed for it"},
		{Calls: []string{"clone", "unshare"}, When: []seccomp.Test{bits(0, newFlags)}, Do: denied, Why: "namespaces give capabilities, and those the kernel's least tested code"},
		{Calls: []string{"unshare"}, When: []seccomp.Test{bits(0, 0x80)}, Do: denied, Why: "a time namespace, as above"},
		{Calls: []string{"setns", "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr", "move_mount", "mount_setattr", "listmount", "statmount", "listns"}, Do: denied, Why: "the view of files is final"},
		{Calls: []string{"open_by_handle_at", "name_to_handle_at"}, Do: denied, Why: "a handle opens files outside every view (CVE-2014-9357)"},
		{Calls: []string{"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp"}, Do: denied, Why: "reaching into another process, which Yama may not stop"},
		{Calls: []string{"keyctl", "add_key", "request_key"}, Do: denied, Why: "keyrings are not in any namespace"},
		{Calls: []string{"bpf", "perf_event_open", "userfaultfd"}, Do: denied, Why: "kernel attack surface without a use in a script"},
		{Calls: []string{"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "get_kernel_syms", "query_module", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "iopl", "ioperm", "lookup_dcookie", "fanotify_init", "_sysctl", "uselib", "ustat", "sysfs", "nfsservctl", "vhangup", "modify_ldt"}, Do: denied, Why: "administration of the machine, and calls nobody needs any more"},
		{Calls: []string{"prlimit64"}, When: []seccomp.Test{not(0, 0)}, Do: denied, Why: "limits of another process of the user: RLIMIT_CPU 1 kills the server"},
		{Calls: []string{"sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr", "migrate_pages", "move_pages"}, When: []seccomp.Test{not(0, 0)}, Do: denied, Why: "slowing down another process of the user"},
		{Calls: []string{"setpriority"}, When: []seccomp.Test{not(0, prioProcess)}, Do: denied, Why: "priority of a group or of all of the user's processes"},
		{Calls: []string{"setpriority"}, When: []seccomp.Test{not(1, 0)}, Do: denied, Why: "priority of another process"},
		{Calls: []string{"ioprio_set"}, When: []seccomp.Test{not(0, ioprioWhoPid)}, Do: denied, Why: "disk priority of a group or of all of the user's processes"},
		{Calls: []string{"ioprio_set"}, When: []seccomp.Test{not(1, 0)}, Do: denied, Why: "disk priority of another process"},
		{Calls: []string{"ioctl"}, When: []seccomp.Test{is(1, tiocsti)}, Do: denied, Why: "typing into a terminal (CVE-2016-7545)"},
		{Calls: []string{"ioctl"}, When: []seccomp.Test{is(1, tioclinux)}, Do: denied, Why: "typing into a console (CVE-2023-1523)"},
		{Calls: []string{"personality"}, When: []seccomp.Test{not(0, 0), not(0, 0xffffffff)}, Do: denied, Why: "switching address randomization off, or another system's ABI on"},
		{Calls: []string{"sendto"}, When: []seccomp.Test{bits(3, msgFastopen)}, Do: denied, Why: "TCP Fast Open connects without connect, past Landlock"},
		{Calls: []string{"sendmsg"}, When: []seccomp.Test{bits(2, msgFastopen)}, Do: denied, Why: "as sendto"},
		{Calls: []string{"sendmmsg"}, When: []seccomp.Test{bits(3, msgFastopen)}, Do: denied, Why: "as sendto"},
	}
}

// setID are the rows that keep a script from making a set-user-ID file: what it
// writes into a folder of root's belongs to root outside, where the mount's
// nosuid does not hold and any user could execute it.
func setID() []seccomp.Row {
	const why = "a set-user-ID file in a folder of the owner's gives the owner's rights to every user of the machine"
	out := []seccomp.Row{{Calls: []string{"openat2"}, Do: noCall, Why: "its mode is behind a pointer; callers fall back to openat"}}
	for _, c := range []struct {
		calls []string
		when  []seccomp.Test
	}{
		{[]string{"chmod", "fchmod", "creat", "mknod"}, []seccomp.Test{bits(1, setIDs)}},
		{[]string{"fchmodat", "fchmodat2", "mknodat"}, []seccomp.Test{bits(2, setIDs)}},
		{[]string{"open"}, []seccomp.Test{bits(1, creates), bits(2, setIDs)}},
		{[]string{"openat"}, []seccomp.Test{bits(2, creates), bits(3, setIDs)}},
	} {
		out = append(out, seccomp.Row{Calls: c.calls, When: c.when, Do: denied, Why: why})
	}
	return out
}

// sockets are the rows for socket and socketpair by network mode. Families are
// listed by what is allowed: vsock reaches the machine's host, and no
// namespace holds it.
func sockets(n policy.Network) []seccomp.Row {
	family := []seccomp.Test{not(0, unix.AF_UNIX)}
	if n != policy.NetNone {
		family = append(family, not(0, unix.AF_INET), not(0, unix.AF_INET6), not(0, unix.AF_NETLINK))
	}
	out := []seccomp.Row{{Calls: []string{"socket", "socketpair"}, When: family, Do: noFamily, Why: "families the network mode does not give: vsock, packet, netlink, alg and the rest"}}
	if n != policy.NetNone {
		out = append(out,
			seccomp.Row{Calls: []string{"socket"}, When: []seccomp.Test{is(0, unix.AF_NETLINK), not(2, unix.NETLINK_ROUTE)}, Do: noFamily, Why: "of netlink only the list of interfaces"},
			seccomp.Row{Calls: []string{"socket"}, When: []seccomp.Test{not(0, unix.AF_UNIX), kind(seccomp.Equal, unix.SOCK_STREAM), not(2, 0), not(2, unix.IPPROTO_TCP)}, Do: noProto, Why: "multipath TCP, SCTP and SMC connect past Landlock, which knows TCP alone"},
			seccomp.Row{Calls: []string{"socket"}, When: []seccomp.Test{not(0, unix.AF_UNIX), kind(seccomp.Equal, unix.SOCK_SEQPACKET)}, Do: noProto, Why: "SCTP again"},
			seccomp.Row{Calls: []string{"socket"}, When: []seccomp.Test{not(0, unix.AF_UNIX), kind(seccomp.Equal, unix.SOCK_DCCP)}, Do: noProto, Why: "a transport nobody filters"},
			seccomp.Row{Calls: []string{"setsockopt"}, When: []seccomp.Test{is(1, unix.IPPROTO_TCP), is(2, tcpULP)}, Do: denied, Why: "it turns a TCP socket into another kind (SMC, since Linux 5.17), which Landlock does not know"})
	}
	if n == policy.NetProxy {
		out = append(out, seccomp.Row{Calls: []string{"listen"}, Do: denied, Why: "a socket that was not bound takes a port of the host by itself, past Landlock; the family is not among the arguments"})
		for _, f := range []uint32{unix.AF_INET, unix.AF_INET6} {
			out = append(out, seccomp.Row{Calls: []string{"socket"}, When: []seccomp.Test{is(0, f), kind(seccomp.NotEqual, unix.SOCK_STREAM)}, Do: noProto, Why: "only TCP leads to the proxy"})
		}
	}
	return out
}

// metadata is added where nothing but Landlock guards files and the policy is
// strict: it breaks fs.cp, and Landlock does not cover these calls.
func metadata() []seccomp.Row {
	return []seccomp.Row{{Calls: []string{"chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "futimesat", "setxattr", "lsetxattr", "removexattr", "lremovexattr", "setxattrat", "removexattrat"}, Do: denied, Why: "modes, owners and times of files outside, where no mount view hides them"},
		{Calls: []string{"utimensat"}, When: []seccomp.Test{not(1, 0)}, Do: denied, Why: "as above; without a path it is futimens, on a file that is open already"}}
}

// sharedIPC is added where a run has no IPC namespace: what it makes there lives
// on after it, outside every limit, and what it finds is the user's.
func sharedIPC() []seccomp.Row {
	return []seccomp.Row{{Calls: []string{"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink"}, Do: noCall, Why: "segments and queues are shared with the user's programs and outlive the run"}}
}

// filter compiles the program of a run for this architecture, as bytes.
func filter(n policy.Network, strictFiles, ownIPC bool) ([]byte, error) {
	rows := append(append(sockets(n), always()...), setID()...)
	if strictFiles {
		rows = append(rows, metadata()...)
	}
	if !ownIPC {
		rows = append(rows, sharedIPC()...)
	}
	p, err := seccomp.Compile(seccomp.Filter{Arch: seccomp.Native(), Rows: rows, Default: seccomp.Allow, Unknown: noCall})
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*int(unsafe.Sizeof(p[0]))), nil
}
