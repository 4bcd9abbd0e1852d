package fence

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
	"skill-mcp/internal/resource"
)

// Step: execve
// Prevents: running another file than the one the monitor resolved.
// Needs: nothing. By descriptor (execveat, Linux 3.19): no path is looked up
// again between the check and the start.
// Order: last.
// On failure: told over the status socket, never by an exit code. Test: TestStep/execve
func (c *child) execve() error {
	l, err := c.launch()
	if err != nil {
		return err
	}
	defaultSignals()
	if !c.Has(report.NSPid) {
		if !c.ProbeOnly {
			l.start() // never returns
		}
		return nil
	}
	// Only a fork is inside the process namespace; it is the monitor's child and
	// this process ends.
	if errno := vfork(uintptr(unix.SIGCHLD)|unix.CLONE_PARENT|shared, l); errno != 0 {
		return order.InLayer(report.NSPid, fmt.Errorf("fork the script's process: %w", unix.Errno(errno)))
	}
	return nil
}

// launch is what the script's process needs, laid out in memory.
type launch struct {
	fd          uintptr
	argv, envv  []*byte
	empty       *byte
	probe       bool
	inside      bool
	monitor     uintptr
	usual       *unix.SchedAttr
	nice        uintptr
	mask        uint64
	note        [3]byte
	poll        unix.PollFd
	immediately unix.Timespec
}

// launch opens the interpreter in the view and compares it with the file the
// monitor resolved.
func (c *child) launch() (*launch, error) {
	l := &launch{empty: new(byte), probe: c.ProbeOnly, inside: c.Has(report.NSPid), monitor: uintptr(c.Monitor), poll: unix.PollFd{Fd: order.StatusFD}}
	l.usual, l.nice = resource.Usual(), c.nice
	if c.ProbeOnly {
		return l, nil
	}
	fd, err := unix.Open(c.Exec, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.Exec, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if int64(st.Dev) != c.ExecDev || int64(st.Ino) != c.ExecIno {
		return nil, fmt.Errorf("%s was exchanged: %w", c.Exec, unix.ESTALE)
	}
	l.fd = uintptr(fd)
	if l.argv, err = cstrings(c.Argv); err != nil {
		return nil, err
	}
	l.envv, err = cstrings(c.Env)
	return l, err
}

// cstrings lays strings out for the kernel, with the closing null pointer.
func cstrings(list []string) ([]*byte, error) {
	out := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		b, err := unix.BytePtrFromString(s)
		if err != nil {
			return nil, fmt.Errorf("argument with a NUL byte: %w", err)
		}
		out = append(out, b)
	}
	return append(out, nil), nil
}

// defaultSignals blocks every signal on this thread and gives every signal its
// default action, so that the script inherits no ignored one and nothing is
// delivered between here and its start.
func defaultSignals() {
	all := ^uint64(0)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0)
	var action [4]uint64 // struct sigaction: SIG_DFL, no flags, no restorer, empty mask
	for s := uintptr(1); s <= 64; s++ {
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, s, uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0) // EINVAL for KILL and STOP
	}
}

// start turns the calling process, which may be a fork of a Go program, into
// the script's. System calls only, no allocation, no growth of the stack; it
// never returns.
//
//go:nosplit
//go:norace
func (l *launch) start() {
	if l.inside { // a fork: what session and parent_death did is its parent's
		unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
		parent, _, _ := unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		pid, _, _ := unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
		_, _, errno := unix.RawSyscall(unix.SYS_KILL, l.monitor, 0, 0)
		if parent != 0 || (errno != unix.ESRCH && l.monitor > pid) {
			l.tell(order.RecordUnproved, 0)
			exit(1)
		}
	}
	l.tell(order.RecordStarted, 0)
	if l.probe || orphaned(&l.poll, &l.immediately) {
		exit(0)
	}
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.mask)), 0, 8, 0, 0)
	if l.usual != nil {
		unix.RawSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(l.usual)), 0)
	}
	errno := unix.Errno(0)
	if l.nice != 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, l.nice)
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall6(unix.SYS_EXECVEAT, l.fd, uintptr(unsafe.Pointer(l.empty)),
			uintptr(unsafe.Pointer(&l.argv[0])), uintptr(unsafe.Pointer(&l.envv[0])), unix.AT_EMPTY_PATH, 0)
	}
	l.tell(order.RecordExec, uint32(errno))
	exit(127)
}

// tell writes one record; the kernel adds the sender's pid.
//
//go:nosplit
//go:norace
func (l *launch) tell(kind byte, value uint32) {
	l.note[0], l.note[1], l.note[2] = kind, byte(value>>8), byte(value)
	unix.RawSyscall(unix.SYS_WRITE, order.StatusFD, uintptr(unsafe.Pointer(&l.note)), 3)
}
