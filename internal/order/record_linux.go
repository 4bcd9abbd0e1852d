package order

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// The descriptors a child is started with, beside the script's own three.
const (
	StatusFD = 3 // SOCK_SEQPACKET to the monitor
	FD       = 4 // memory file with the first order
)

// Places in the list of descriptors that come with the second order.
const (
	StdoutFile = iota
	StderrFile
	SkillFile // the skill's directory, O_PATH
	FirstMap  // user namespaces for mapped mounts
)

// What a record on the status socket begins with. Codes of tun.Send share it.
const (
	RecordFailed   = 'F' // Failure: nothing was started
	RecordReport   = 'R' // proofs, with the run's /tmp and its mount namespaces as descriptors when it has them
	RecordInit     = 'I' // sent by the init of the process namespace; the kernel adds its pid
	RecordUnproved = 'U' // the script's process is in no namespace of its own
	RecordStarted  = 'S' // sent by the script's process; the end of the socket follows when it has its program
	RecordExec     = 'E' // errno of the last step, two bytes
	RecordGo       = 'O' // the monitor's only word: the second order, and the descriptors with it
)

// Proof is what one child shows of one layer, in the words of package report.
type Proof struct {
	Layer, Got, Level, Reason string
}

// Failure is a step that ended the child: its name, the layer it belongs to
// ("" for none), the name of the errno and what was being done.
type Failure struct {
	Stage, Layer, Errno, Text string
}

// Memory puts the order into a memory file, since it may be larger than a
// record of the socket. The descriptor is close-on-exec and the caller's.
func (o *Order) Memory() (int, error) {
	fd, err := unix.MemfdCreate("order", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Pwrite(fd, o.Encode(), 0); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Read takes an order out of its memory file and closes it: the run's
// environment must not stay readable there.
func Read(fd int) (*Order, error) {
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
	return Decode(b[:n])
}

// Record gives the whole record of a failure.
func (f Failure) Record() []byte {
	c := &coder{b: []byte{RecordFailed}}
	f.walk(c)
	return c.b
}

// DecodeFailure reads the record of a step that failed, without its kind. What
// cannot be read is left empty: a failure it is in any case.
func DecodeFailure(body []byte) (f Failure) {
	f.walk(&coder{b: body, decode: true})
	return f
}

func (f *Failure) walk(c *coder) {
	for _, s := range []*string{&f.Stage, &f.Layer, &f.Errno, &f.Text} {
		c.str(s)
	}
}

// ProofsRecord gives the whole record of a report.
func ProofsRecord(p []Proof) []byte {
	c := &coder{b: []byte{RecordReport}}
	walkProofs(c, &p)
	return c.b
}

// DecodeProofs reads the record of a report, without its kind. What cannot be
// read proves nothing.
func DecodeProofs(body []byte) (p []Proof) {
	walkProofs(&coder{b: body, decode: true}, &p)
	return p
}

func walkProofs(c *coder, p *[]Proof) {
	list(c, p, func(p *Proof) { c.str(&p.Layer); c.str(&p.Got); c.str(&p.Level); c.str(&p.Reason) })
}

// layered is an error with the layer it belongs to.
type layered struct {
	layer report.Layer
	err   error
}

func (l layered) Error() string { return l.err.Error() }
func (l layered) Unwrap() error { return l.err }

// InLayer names the layer of an error where a step serves several.
func InLayer(l report.Layer, err error) error { return layered{l, err} }

// LayerOf is the layer that InLayer gave an error, or otherwise.
func LayerOf(err error, otherwise report.Layer) report.Layer {
	var l layered
	if errors.As(err, &l) {
		return l.layer
	}
	return otherwise
}

// ErrnoName is the name of the errno inside err, "" without one.
func ErrnoName(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return ""
}
