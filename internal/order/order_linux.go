package order

import (
	"encoding/binary"
	"errors"

	"skill-mcp/internal/report"
)

// Order is all a child knows: what the monitor decided, in the form the steps
// carry out. It crosses in a memory file; nothing of it comes from a script.
type Order struct {
	Layers    uint64 // bit i: attempt report.Layers()[i]
	MapUser   bool   // the child stands in a user namespace of its own and maps itself
	ProbeOnly bool   // end after the report instead of starting a program
	UID, GID  int64  // what the run ends as
	Monitor   int64  // pid of the monitor, as the monitor sees it

	Namespaces []string // "pid:[4026531836]" and so on: the monitor's own, to differ from
	Cgroups    []string // suffixes that lines of /proc/self/cgroup must have, by layer order memory, pids, cpu, kill

	View  []ViewOp  // the mount view, parents first
	Marks [2]string // a host path the view must not show, and the file Landlock must refuse
	Cwd   string
	Lo    bool // bring loopback up
	Tun   bool // make the way out of mode declared and hand it over

	Rlimits []Rlimit
	ABI     int64 // Landlock ABI to be strict about, 0 = none
	Rules   []Rule
	Ports   []int64 // TCP ports that may be connected to
	NetAny  bool    // TCP is not handled by Landlock (mode open)
	Filter  []byte  // seccomp program, 8 bytes an instruction

	TmpBytes, TmpInodes int64
	Exec                string
	ExecDev, ExecIno    int64
	Argv, Env           []string
}

// ViewOp is one thing in the new root: its kind, where, and an argument.
type ViewOp struct {
	Kind string // dir, link, file, tree, write, dev, tmpfs, proc
	Path string // absolute in the new root
	Arg  string // source path, link target, file content or tmpfs size
	N    int64  // mode, or inodes of a tmpfs, or for a tree: 1 + the place of the file it must be, 0 = any
	Map  int64  // 1 + the place of a user namespace to map owners by, 0 = none
}

// Rlimit is one row of setrlimit: a RLIMIT_ number and both limits in its unit.
type Rlimit struct{ Resource, Soft, Hard int64 }

// Rule is one Landlock path rule.
type Rule struct {
	Path   string
	Access int64 // rights for a directory; a file gets the subset that files have
}

// Has reports whether layer l is attempted.
func (o *Order) Has(l report.Layer) bool { return o.Layers&Bit(l) != 0 }

// Bit is the place of a layer in Order.Layers.
func Bit(l report.Layer) uint64 {
	for i, k := range report.Layers() {
		if k == l {
			return 1 << i
		}
	}
	return 0
}

// errOrder is what a child says of an order it cannot read whole.
var errOrder = errors.New("read order: malformed")

// coder walks the fields of an order in one sequence for both directions, so
// that the two ends cannot disagree. It exists because encoding/json costs a
// starting child 0.4 ms.
type coder struct {
	b      []byte
	decode bool
	failed bool
}

func (c *coder) num(v *int64) {
	if !c.decode {
		c.b = binary.AppendVarint(c.b, *v)
		return
	}
	n, size := binary.Varint(c.b)
	if size <= 0 {
		c.failed, n, size = true, 0, len(c.b)
	}
	*v, c.b = n, c.b[size:]
}

func (c *coder) flag(v *bool) {
	n := int64(0)
	if *v {
		n = 1
	}
	c.num(&n)
	*v = n == 1
	c.failed = c.failed || n < 0 || n > 1
}

func (c *coder) str(v *string) {
	n := int64(len(*v))
	c.num(&n)
	switch {
	case !c.decode:
		c.b = append(c.b, *v...)
	case n < 0 || n > int64(len(c.b)):
		c.failed, c.b = true, nil
	default:
		*v, c.b = string(c.b[:n]), c.b[n:]
	}
}

// list walks a slice, each element by f.
func list[T any](c *coder, v *[]T, f func(*T)) {
	n := int64(len(*v))
	c.num(&n)
	if c.decode {
		if n < 0 || n > int64(len(c.b)) { // an element takes a byte at least
			c.failed, c.b = true, nil
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		f(&(*v)[i])
	}
}

// walk is the sequence.
func (o *Order) walk(c *coder) {
	layers, filter := int64(o.Layers), string(o.Filter)
	c.num(&layers)
	for _, f := range []*bool{&o.MapUser, &o.ProbeOnly, &o.Lo, &o.Tun, &o.NetAny} {
		c.flag(f)
	}
	for _, n := range []*int64{&o.UID, &o.GID, &o.Monitor, &o.ABI, &o.TmpBytes, &o.TmpInodes, &o.ExecDev, &o.ExecIno} {
		c.num(n)
	}
	for _, s := range []*string{&o.Marks[0], &o.Marks[1], &o.Cwd, &o.Exec, &filter} {
		c.str(s)
	}
	for _, l := range []*[]string{&o.Namespaces, &o.Cgroups, &o.Argv, &o.Env} {
		list(c, l, c.str)
	}
	list(c, &o.Ports, c.num)
	list(c, &o.View, func(v *ViewOp) { c.str(&v.Kind); c.str(&v.Path); c.str(&v.Arg); c.num(&v.N); c.num(&v.Map) })
	list(c, &o.Rlimits, func(r *Rlimit) { c.num(&r.Resource); c.num(&r.Soft); c.num(&r.Hard) })
	list(c, &o.Rules, func(r *Rule) { c.str(&r.Path); c.num(&r.Access) })
	if c.decode {
		o.Layers, o.Filter = uint64(layers), []byte(filter)
	}
}

// Encode gives the bytes of o.
func (o *Order) Encode() []byte {
	c := &coder{}
	o.walk(c)
	return c.b
}

// Decode reads one order and nothing behind it.
func Decode(b []byte) (*Order, error) {
	o, c := &Order{}, &coder{b: b, decode: true}
	o.walk(c)
	if c.failed || len(c.b) != 0 || string(o.Encode()) != string(b) {
		return nil, errOrder
	}
	return o, nil
}
