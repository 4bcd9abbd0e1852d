package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// initTasks is the room above the run's own process limit for the init of its
// process namespace and, at the start, the child with its threads.
const initTasks = 8

// startTime bounds the steps: they take 3 ms, and a child that hangs in them
// is a failure of the set-up, not of the script.
const startTime = 10 * time.Second

// nsFlags are the namespaces by the layer that asks for them.
var nsFlags = []struct {
	layer report.Layer
	kind  string
	flags uintptr
}{
	{report.NSPid, "pid", 0}, // made by the child, for its forks
	{report.NSMount, "mnt", unix.CLONE_NEWNS},
	{report.NSIpc, "ipc", unix.CLONE_NEWIPC | unix.CLONE_NEWUTS},
	{report.NSNet, "net", unix.CLONE_NEWNET},
}

// ambient are the capabilities a child keeps over its execve in a user
// namespace of its own: to mount, to make its network, to empty its sets.
var ambient = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SETPCAP}

// Start fences one child in and starts its program. A step of a layer that the
// policy only prefers and that fails is left out, and the report of the run
// says so; any other failure is a *SetupError and nothing was run.
//
// Precondition: one run at a time; the one before was closed.
func (h *Host) Start(s Spec) (*Run, error) {
	lacks := map[report.Layer]lack{}
	for l, k := range h.lacks {
		if s.Policy.Want(l) == report.Require && h.wanted(l, s) {
			return nil, &SetupError{Stage: "probe", Layer: l, Errno: k.errno, Text: k.reason}
		}
		lacks[l] = k
	}
	for {
		waiting := h.coming != nil
		r, err := h.attempt(s, lacks, false)
		var se *SetupError
		if err == nil || !errors.As(err, &se) {
			return r, err
		}
		if waiting && se.Layer == "" { // somebody ended the child that waited
			continue
		}
		if !giveUp(se, s.Policy, lacks) {
			return nil, err
		}
	}
}

// attempt is one try to start a child without the layers in lacks.
func (h *Host) attempt(s Spec, lacks map[report.Layer]lack, probe bool) (_ *Run, err error) {
	r := h.takeStandby(s, lacks, probe)
	var files []int
	if r != nil {
		if files, err = h.complete(r, s); errors.Is(err, errOtherView) {
			r.abandon()
			r = nil
		}
	}
	if r == nil {
		if r, err = h.birth(s, lacks, probe, false); err != nil {
			return nil, err
		}
		files, err = h.complete(r, s)
	}
	defer func() {
		if err != nil {
			r.abandon()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err = r.send(files); err != nil {
		return nil, err
	}
	if err = r.await(probe); err != nil {
		return nil, err
	}
	return r, nil
}

// birth makes a child that has done the steps which do not depend on what it
// will run, and waits.
func (h *Host) birth(s Spec, lacks map[report.Layer]lack, probe, early bool) (_ *Run, err error) {
	r := &Run{host: h, spec: s, lacks: lacks, waited: early, tmp: -1, sock: -1, pidfd: -1, childfd: -1, initfd: -1, done: make(chan struct{})}
	defer func() {
		if err != nil {
			r.abandon()
		}
	}()
	if err := h.prepare(r, probe); err != nil {
		return nil, err
	}
	return r, h.spawn(r)
}

// abandon ends a run that never started its program.
func (r *Run) abandon() {
	r.Kill(time.Second)
	r.Close()
}

// flags are the namespaces a run gets.
func flags(o *order.Order) (f uintptr) {
	for _, n := range nsFlags {
		if o.Has(n.layer) {
			f |= n.flags
		}
	}
	return f
}

// Step: clone
// Prevents: an instruction of the run outside its namespaces and groups.
// Needs: root, or user namespaces; Linux 5.7 for the v2 group at birth.
// Order: after prepare; the thread stands in the v1 groups only meanwhile.
// On failure: the namespaces are given up or the run refused. Test: TestStep/clone
func (h *Host) spawn(r *Run) error {
	mem, err := r.order.Memory()
	if err != nil {
		return setupError("clone", "", err)
	}
	defer unix.Close(mem)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return setupError("clone", "", err)
	}
	defer unix.Close(pair[1])
	r.sock = pair[0]
	limit := unix.NsecToTimeval(startTime.Nanoseconds())
	err = errors.Join(unix.SetsockoptInt(r.sock, unix.SOL_SOCKET, unix.SO_PASSCRED, 1),
		unix.SetsockoptTimeval(r.sock, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
	if err != nil {
		return setupError("clone", "", err)
	}
	sys := &syscall.SysProcAttr{Cloneflags: flags(r.order), PidFD: &r.childfd}
	if r.order.MapUser {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.AmbientCaps = ambient
	}
	if r.group.v2fd != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(r.group.v2fd.Fd())
	}
	attr := &syscall.ProcAttr{
		Env: h.childEnv, Sys: sys,
		Files: []uintptr{h.null.Fd(), h.null.Fd(), h.null.Fd(), uintptr(pair[1]), uintptr(mem)},
	}
	err = h.onThread(func() error {
		enterErr := r.group.enter()
		var forkErr error
		if enterErr == nil {
			r.child, forkErr = syscall.ForkExec(h.exe, []string{"skill-exec", "child"}, attr)
		}
		if err := r.group.leave(); err != nil {
			h.broken = err // the thread would take the monitor into a run's group
		}
		return errors.Join(enterErr, forkErr, h.broken)
	})
	if err != nil {
		return setupError("clone", "", err)
	}
	return nil
}

// send tells a waiting child what it is for.
func (r *Run) send(files []int) error {
	mem, err := r.order.Memory()
	if err != nil {
		return setupError("go", "", err)
	}
	defer unix.Close(mem)
	rights := unix.UnixRights(append([]int{mem}, files...)...)
	if err := unix.Sendmsg(r.sock, []byte{order.RecordGo}, rights, nil, unix.MSG_NOSIGNAL); err != nil {
		// The child went before its time; its last record says why, if it left one.
		if why := r.await(false); why != nil {
			return why
		}
		return setupError("go", "", fmt.Errorf("tell the child: %w", err))
	}
	return nil
}

// failed reads the record of a step that failed.
func failed(body []byte) error {
	f := order.DecodeFailure(body)
	return &SetupError{Stage: f.Stage, Layer: report.Layer(f.Layer), Errno: f.Errno, Text: f.Text}
}

// fdOf is the descriptor of f, or of another file when there is none.
func fdOf(f, otherwise *os.File) int {
	if f == nil {
		f = otherwise
	}
	return int(f.Fd())
}

// setupError gives an error of the monitor's own steps its stage and layer.
func setupError(stage string, l report.Layer, err error) *SetupError {
	return &SetupError{Stage: stage, Layer: order.LayerOf(err, l), Errno: order.ErrnoName(err), Text: err.Error()}
}

// await takes the child's records until it runs or says why not.
func (r *Run) await(probe bool) error {
	for {
		kind, body, err := r.receive()
		switch {
		case err != nil:
			return setupError("start", "", fmt.Errorf("wait for the child: %w", err))
		case kind == order.RecordFailed:
			r.failed = true
			return failed(body)
		case kind == order.RecordReport:
			r.proofs = order.DecodeProofs(body)
			if probe && !r.inside {
				return nil
			}
		case kind == order.RecordUnproved:
			return setupError("execve", report.NSPid, errors.New("canary: see the monitor was not refused"))
		case kind == order.RecordExec && len(body) == 2:
			errno := unix.Errno(int(body[0])<<8 | int(body[1]))
			return setupError("execve", "", fmt.Errorf("start %s: %w", r.spec.Exec.Path, errno))
		case kind == 0 && r.pid != 0: // the socket closed with the execve
			r.watched = true
			go r.watch()
			return nil
		case kind == 0:
			return setupError("start", "", fmt.Errorf("the child ended without a word: %w", unix.ECHILD))
		}
	}
}

// receive reads one record, and takes what comes with it: the sender's pid,
// the run's /tmp, its mount namespaces, its way out. Kind 0 is the end.
func (r *Run) receive() (kind byte, body []byte, err error) {
	buf, oob := make([]byte, 64<<10), make([]byte, 256)
	var n, on int
	for {
		n, on, _, _, err = unix.Recvmsg(r.sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
		// A child that ended with our word unread resets the socket, once; what it
		// said before is still there.
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ECONNRESET) {
			break
		}
	}
	if err != nil || n == 0 {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return 0, nil, err
	}
	for i := range messages {
		if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			r.sender(buf[0], int(cred.Pid))
		}
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			r.keep(buf[0], fd)
		}
	}
	return buf[0], buf[1:n], nil
}

// sender notes which process of the run sent a record. It is this process's
// own child and not reaped, so the pid is still its.
func (r *Run) sender(kind byte, pid int) {
	switch kind {
	case order.RecordStarted:
		r.pid = pid
		if r.inside {
			r.pidfd, _ = unix.PidfdOpen(pid, 0)
		} else {
			r.pidfd, r.childfd = r.childfd, -1
		}
	case order.RecordInit:
		r.init = pid
		r.initfd, _ = unix.PidfdOpen(pid, 0)
	}
}

// keep stores a descriptor by the record it came with.
func (r *Run) keep(kind byte, fd int) {
	device, isDevice := tun.DeviceOf(kind, fd)
	switch {
	case kind == order.RecordReport && r.tmp < 0:
		r.tmp = fd
	case kind == order.RecordReport && len(r.spaces) < 2:
		r.spaces = append(r.spaces, fd)
	case isDevice && r.device == nil:
		r.device = &device
	default:
		unix.Close(fd)
	}
}
