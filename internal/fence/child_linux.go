package fence

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// child is the state of one child between its steps.
type child struct {
	*order.Order
	proofs []order.Proof
	tmp    int // descriptor of the run's /tmp, -1 = none
	proc   int // its /proc, not attached yet, -1 = none
	root   int // the root of the view
	shown  map[order.ViewOp]bool
	host   places
	rules  int // the Landlock rule set, -1 = none yet
	ruled  map[order.Rule]bool
	files  []int
	baits  [3]int
	nice   uintptr // of the script, 0 = the server's
}

// Step is one entry of the ordered list.
type Step struct {
	Name  string
	layer report.Layer // "" = needed by several, or by all
	do    func(*child) error
}

// Child is the role `skill-exec child`. It does not return when all goes well:
// the process becomes the script's, or the init of its process namespace. The
// result is the exit status for main; the cause went to the status socket.
//
// Precondition: called from main before any other goroutine was started, with
// the descriptors above.
func Child() int { return Run(Steps()) }

// Run carries out a list of steps, as Child does all of them. It is apart so
// that a test can leave one out and see the attack work; outside tests only
// Child may call it, which the house rules hold.
func Run(list []Step) int {
	// Landlock, seccomp, credentials and no_new_privs are per thread. A goroutine
	// that moves between threads leaves the fence.
	runtime.LockOSThread()
	o, err := order.Read(order.FD)
	if err != nil {
		return tell(order.Failure{Stage: "order", Errno: order.ErrnoName(err), Text: err.Error()})
	}
	c := &child{Order: o, tmp: -1, proc: -1, rules: -1, ruled: map[order.Rule]bool{}, baits: [3]int{-1, -1, -1}}
	for _, s := range list {
		if s.layer != "" && !c.Has(s.layer) {
			continue
		}
		if err := s.do(c); err != nil {
			return tell(order.Failure{Stage: s.Name, Layer: string(order.LayerOf(err, s.layer)), Errno: order.ErrnoName(err), Text: err.Error()})
		}
	}
	return 0
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
	n, size, _, _, err := unix.Recvmsg(order.StatusFD, word[:], rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, size, _, _, err = unix.Recvmsg(order.StatusFD, word[:], rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n != 1 || word[0] != order.RecordGo {
		return fmt.Errorf("wait for the monitor's word: %w", errors.Join(err, unix.ECANCELED))
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("take the descriptors: %w", unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) < 1+order.FirstMap {
		return fmt.Errorf("take the descriptors: %w", unix.EBADMSG)
	}
	c.files = fds[1:]
	o, err := order.Read(fds[0])
	if err != nil {
		return err
	}
	c.Order = o
	for to, from := range map[int]int{1: c.files[order.StdoutFile], 2: c.files[order.StderrFile]} {
		if err := unix.Dup3(from, to, 0); err != nil {
			return fmt.Errorf("take the outputs: %w", err)
		}
	}
	return nil
}

// tell sends a failure and gives main's exit status.
func tell(f order.Failure) int {
	unix.Sendmsg(order.StatusFD, f.Record(), nil, nil, unix.MSG_NOSIGNAL) // nobody is left to tell when this fails
	return 1
}

// prove records what was seen of a layer; of two words on one layer the
// weaker stays.
func (c *child) prove(l report.Layer, got report.Got, level, reason string) {
	for i, p := range c.proofs {
		if p.Layer == string(l) {
			if p.Got == string(report.Enforced) {
				c.proofs[i] = order.Proof{Layer: string(l), Got: string(got), Level: level, Reason: reason}
			}
			return
		}
	}
	c.proofs = append(c.proofs, order.Proof{Layer: string(l), Got: string(got), Level: level, Reason: reason})
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
