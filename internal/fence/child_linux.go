package fence

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// The descriptors a child is started with, beside the script's own three.
const (
	statusFD = 3 // SOCK_SEQPACKET to the monitor
	orderFD  = 4 // memory file with the first order
)

// Places in the list of descriptors that come with the second order.
const (
	stdoutFile = iota
	stderrFile
	skillFile // the skill's directory, O_PATH
	firstMap  // user namespaces for mapped mounts
)

// What a record on the status socket begins with. Kinds of tun.Send share it.
const (
	recordFailed   = 'F' // failure: nothing was started
	recordReport   = 'R' // proofs, with the run's /tmp as a descriptor when it has one
	recordInit     = 'I' // sent by the init of the process namespace; the kernel adds its pid
	recordUnproved = 'U' // the script's process is in no namespace of its own
	recordStarted  = 'S' // sent by the script's process; the end of the socket follows when it has its program
	recordExec     = 'E' // errno of the last step, two bytes
	orderGo        = 'O' // the monitor's only word: the second order, and the descriptors with it
)

// child is the state of one child between its steps.
type child struct {
	*order
	proofs []proof
	tmp    int // descriptor of the run's /tmp, -1 = none
	proc   int // its /proc, not attached yet, -1 = none
	root   int // the new root, on top of the host's until mounts
	shown  map[viewOp]bool
	files  []int
	baits  [3]int
}

// proof is what one child shows of one layer.
type proof struct {
	Layer, Got, Level, Reason string
}

// failure is a step that ended the child.
type failure struct {
	Stage, Layer, Errno, Text string
}

// step is one entry of the ordered list.
type step struct {
	name  string
	layer report.Layer // "" = needed by several, or by all
	do    func(*child) error
}

// Child is the role `skill-exec child`. It does not return when all goes well:
// the process becomes the script's, or the init of its process namespace. The
// result is the exit status for main; the cause went to the status socket.
//
// Precondition: called from main before any other goroutine was started, with
// the descriptors above.
func Child() int { return runChild(steps()) }

// runChild carries out a list of steps.
func runChild(list []step) int {
	// Landlock, seccomp, credentials and no_new_privs are per thread. A goroutine
	// that moves between threads leaves the fence.
	runtime.LockOSThread()
	o, err := readOrder(orderFD)
	if err != nil {
		return tell(failure{Stage: "order", Errno: errnoName(err), Text: err.Error()})
	}
	c := &child{order: o, tmp: -1, proc: -1, baits: [3]int{-1, -1, -1}}
	for _, s := range list {
		if s.layer != "" && !c.has(s.layer) {
			continue
		}
		if err := s.do(c); err != nil {
			return tell(failure{Stage: s.name, Layer: string(layerOf(err, s.layer)), Errno: errnoName(err), Text: err.Error()})
		}
	}
	return 0
}

// readOrder takes an order out of its memory file and closes it: the run's
// environment must not stay readable there.
func readOrder(fd int) (*order, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	b := make([]byte, st.Size)
	n, err := unix.Pread(fd, b, 0)
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	return decodeOrder(b[:n])
}

// Step: go
// Prevents: waiting: everything up to here is the same for every script, and
// was done before one was asked for.
// Needs: nothing.
// Order: after the steps that do not depend on the script, before mounts.
// On failure: the run is aborted. Test: TestStep/go
func (c *child) wait() error {
	var word [1]byte
	rights := make([]byte, unix.CmsgSpace(4*32))
	n, size, _, _, err := unix.Recvmsg(statusFD, word[:], rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, size, _, _, err = unix.Recvmsg(statusFD, word[:], rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n != 1 || word[0] != orderGo {
		return fmt.Errorf("wait for the monitor's word: %w", errors.Join(err, unix.ECANCELED))
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("take the descriptors: %w", unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) < 1+firstMap {
		return fmt.Errorf("take the descriptors: %w", unix.EBADMSG)
	}
	c.files = fds[1:]
	o, err := readOrder(fds[0])
	if err != nil {
		return err
	}
	c.order = o
	for to, from := range map[int]int{1: c.files[stdoutFile], 2: c.files[stderrFile]} {
		if err := unix.Dup3(from, to, 0); err != nil {
			return fmt.Errorf("take the outputs: %w", err)
		}
	}
	return nil
}

// layered names the layer of an error where a step serves several.
type layered struct {
	layer report.Layer
	err   error
}

func (l layered) Error() string { return l.err.Error() }
func (l layered) Unwrap() error { return l.err }

func layerOf(err error, otherwise report.Layer) report.Layer {
	var l layered
	if errors.As(err, &l) {
		return l.layer
	}
	return otherwise
}

// errnoName is the name of the errno inside err, "" without one.
func errnoName(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return ""
}

// tell sends a failure and gives main's exit status.
func tell(f failure) int {
	c := &coder{b: []byte{recordFailed}}
	f.walk(c)
	unix.Sendmsg(statusFD, c.b, nil, nil, unix.MSG_NOSIGNAL) // nobody is left to tell when this fails
	return 1
}

func (f *failure) walk(c *coder) {
	for _, s := range []*string{&f.Stage, &f.Layer, &f.Errno, &f.Text} {
		c.str(s)
	}
}

func walkProofs(c *coder, p *[]proof) {
	list(c, p, func(p *proof) { c.str(&p.Layer); c.str(&p.Got); c.str(&p.Level); c.str(&p.Reason) })
}

// prove records what was seen of a layer; of two words on one layer the
// weaker stays.
func (c *child) prove(l report.Layer, got report.Got, level, reason string) {
	for i, p := range c.proofs {
		if p.Layer == string(l) {
			if p.Got == string(report.Enforced) {
				c.proofs[i] = proof{string(l), string(got), level, reason}
			}
			return
		}
	}
	c.proofs = append(c.proofs, proof{string(l), string(got), level, reason})
}

// writeFile writes to an existing file of /proc.
func writeFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
