package fence

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// Step: pid_namespace
// Prevents: seeing and signalling any process that is not the run's; and node
// as process 1, which neither reaps nor dies of signals.
// Needs: CAP_SYS_ADMIN: root, or the user namespace of user_map.
// Order: before view, which places the /proc that only a process inside the
// namespace can make. This process stays outside.
// On failure: the layer is given up or the run aborted. Test: TestStep/pid_namespace
func (c *child) pidNamespace() error {
	if err := unix.Unshare(unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("make a process namespace: %w", err)
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	i := &initProcess{answer: uintptr(pipe[1]), uid: uintptr(c.UID), gid: uintptr(c.GID), change: c.Has(report.UID) && !c.MapUser, proc: c.Has(report.NSMount)}
	i.lay()
	// A bare fork: one thread, no Go runtime. CLONE_PARENT makes it the monitor's
	// child, CLONE_FILES lets it leave a descriptor here, and CLONE_PIDFD tells of
	// its end: the pipe does not, since this process holds its write end too.
	_, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_PARENT|unix.CLONE_FILES|unix.CLONE_PIDFD,
		0, uintptr(unsafe.Pointer(&i.handle)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("fork the init: %w", errno)
	}
	if isInit() {
		i.serve()
	}
	var b [8]byte
	n, err := 0, error(unix.EINTR)
	ready := []unix.PollFd{{Fd: int32(pipe[0]), Events: unix.POLLIN}, {Fd: i.handle, Events: unix.POLLIN}}
	for err == unix.EINTR {
		_, err = unix.Poll(ready, -1)
	}
	if ready[0].Revents&unix.POLLIN != 0 {
		n, err = unix.Read(pipe[0], b[:])
	}
	for _, fd := range []int{pipe[0], pipe[1], int(i.handle)} {
		unix.Close(fd)
	}
	if err != nil || n != len(b) {
		return fmt.Errorf("wait for the init: %w", unix.ECHILD)
	}
	a := *(*[2]int32)(unsafe.Pointer(&b))
	if c.proc = int(a[0]); a[1] != 0 {
		// An outer container masks parts of its /proc, so that a fresh one is
		// refused. The host's is never the answer.
		c.proc = -1
		c.prove(report.NSPid, report.Partial, "", "no /proc: make a fresh one: "+unix.Errno(a[1]).Error())
	}
	return nil
}

// isInit tells the two sides of the fork apart.
//
//go:nosplit
func isInit() bool {
	pid, _, _ := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	return pid == 1
}

// initProcess is what the init needs, laid out in memory: after a fork off a
// Go program nothing may be allocated.
type initProcess struct {
	answer, uid, gid uintptr
	change, proc     bool
	handle           int32 // descriptor of this process, for the child

	words  [6]*byte // proc, hidepid, invisible, subset, pid
	result [2]int32 // descriptor of the new /proc, errno
	caps   [2]uint32
	none   [6]uint32
	set    uint64
	note   [1]byte
	poll   unix.PollFd
	zero   unix.Timespec
}

func (i *initProcess) lay() {
	for n, w := range []string{"proc", "hidepid", "invisible", "subset", "pid", ""} {
		i.words[n], _ = unix.BytePtrFromString(w) // no NUL in a constant
	}
	i.caps[0] = unix.LINUX_CAPABILITY_VERSION_3
	i.set, i.note[0] = ^uint64(0), order.RecordInit
	i.poll = unix.PollFd{Fd: order.StatusFD}
}

// serve is the init: it makes the /proc, gives up what it was born with, and
// reaps until it is killed. Its signals have no handlers, so that nothing from
// inside touches it; it dies with the monitor, and all of the run with it.
//
//go:nosplit
//go:norace
func (i *initProcess) serve() {
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&i.set)), 0, 8, 0, 0)
	if i.proc {
		i.mountProc()
	}
	if i.change {
		unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		unix.RawSyscall(unix.SYS_SETRESGID, i.gid, i.gid, i.gid)
		unix.RawSyscall(unix.SYS_SETRESUID, i.uid, i.uid, i.uid)
	}
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	_, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&i.caps)), uintptr(unsafe.Pointer(&i.none)), 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_GETUID, 0, 0, 0)
	unix.RawSyscall(unix.SYS_WRITE, order.StatusFD, uintptr(unsafe.Pointer(&i.note)), 1) // also when it gives up: it has to be reaped
	if errno != 0 || (i.change && uid != i.uid) {
		exit(1) // the answer does not come, and the child gives the layer up
	}
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
	if orphaned(&i.poll, &i.zero) {
		exit(1)
	}
	unix.RawSyscall(unix.SYS_WRITE, i.answer, uintptr(unsafe.Pointer(&i.result)), 8)
	unix.RawSyscall(unix.SYS_CLOSE_RANGE, 0, uintptr(^uint32(0)), unix.CLOSE_RANGE_UNSHARE)
	for {
		unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&i.set)), 0, 0, 8, 0, 0)
		for {
			pid, _, errno := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, unix.WNOHANG|unix.WALL, 0, 0, 0)
			if errno != 0 || pid == 0 {
				break
			}
		}
	}
}

// mountProc makes a /proc of this namespace that shows a process only its own.
//
//go:nosplit
//go:norace
func (i *initProcess) mountProc() {
	fs, _, errno := unix.RawSyscall(unix.SYS_FSOPEN, uintptr(unsafe.Pointer(i.words[0])), unix.FSOPEN_CLOEXEC, 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, uintptr(unsafe.Pointer(i.words[1])), uintptr(unsafe.Pointer(i.words[2])), 0, 0)
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, uintptr(unsafe.Pointer(i.words[3])), uintptr(unsafe.Pointer(i.words[4])), 0, 0)
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0, 0)
	}
	mount := uintptr(0)
	if errno == 0 {
		mount, _, errno = unix.RawSyscall(unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, attrWrite)
	}
	i.result = [2]int32{int32(mount), int32(errno)}
}

// orphaned reports whether the other end of the status socket is gone: the
// monitor died before it was tied to this process.
//
//go:nosplit
//go:norace
func orphaned(p *unix.PollFd, now *unix.Timespec) bool {
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(p)), 1, uintptr(unsafe.Pointer(now)), 0, 0, 0)
	return p.Revents&unix.POLLHUP != 0
}

// exit ends the process.
//
//go:nosplit
//go:norace
func exit(code uintptr) {
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, code, 0, 0)
	}
}
