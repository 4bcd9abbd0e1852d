package seccomp

import (
	"errors"
	"fmt"
	"sort"
)

// The instructions used (linux/bpf_common.h).
const (
	opLoad    = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd     = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opJump    = 0x05 // BPF_JMP | BPF_JA
	opEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opGreater = 0x25 // BPF_JMP | BPF_JGT | BPF_K
	opAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	opReturn  = 0x06 // BPF_RET | BPF_K
)

// Offsets in struct seccomp_data.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
)

// x32Bit marks a call of the x32 ABI on amd64, which shares the architecture
// value and reaches the same calls by other numbers.
const x32Bit = 0x40000000

// maxInstructions is the kernel's bound (BPF_MAXINSNS).
const maxInstructions = 4096

// Compile turns f into a program. The calls are searched as a tree over ranges
// of equal answers, so that the kernel's own walk over all numbers while it
// loads the program stays short (about 8 comparisons a number).
func Compile(f Filter) ([]Instruction, error) {
	leaves, err := f.leaves()
	if err != nil {
		return nil, err
	}
	p := []Instruction{
		{Code: opLoad, K: offsetArch},
		{Code: opEqual, Jt: 1, K: uint32(f.Arch)},
		{Code: opReturn, K: uint32(KillProcess)},
		{Code: opLoad, K: offsetNr},
	}
	if f.Arch == AMD64 {
		p = append(p, Instruction{Code: opAtLeast, Jf: 1, K: x32Bit}, Instruction{Code: opReturn, K: uint32(KillProcess)})
	}
	p = append(p, Instruction{Code: opGreater, Jf: 1, K: Highest}, Instruction{Code: opReturn, K: uint32(f.Unknown)})
	p = append(p, tree(leaves)...)
	if len(p) > maxInstructions {
		return nil, fmt.Errorf("compile seccomp filter: %d instructions, the kernel takes %d", len(p), maxInstructions)
	}
	return p, nil
}

// leaf answers all numbers from first up to the next leaf's first.
type leaf struct {
	first uint32
	body  []Instruction // ends in a return on every path
}

// leaves lays the rows out by number, neighbours with one answer merged.
func (f Filter) leaves() ([]leaf, error) {
	byNumber, closed, err := f.byNumber()
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, len(byNumber))
	for n := range byNumber {
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	plain := []Instruction{{Code: opReturn, K: uint32(f.Default)}}
	out := []leaf{{first: 0, body: plain}}
	for _, n := range numbers {
		body := append([]Instruction{}, byNumber[n]...)
		if !closed[n] {
			body = append(body, plain...)
		}
		out = add(out, leaf{uint32(n), body})
		out = add(out, leaf{uint32(n) + 1, plain})
	}
	return out, nil
}

// add appends l, replacing an empty last leaf and merging an equal one.
func add(out []leaf, l leaf) []leaf {
	if last := len(out) - 1; last >= 0 && out[last].first == l.first {
		out = out[:last]
	}
	if last := len(out) - 1; last >= 0 && same(out[last].body, l.body) {
		return out
	}
	return append(out, l)
}

func same(a, b []Instruction) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// byNumber compiles each row and joins the rows of one call in order; closed
// are the calls whose last row always holds. A row behind such a one can never
// be reached and is refused.
func (f Filter) byNumber() (out map[int][]Instruction, closed map[int]bool, err error) {
	numbers, err := Numbers(f.Arch)
	if err != nil {
		return nil, nil, err
	}
	out, closed = map[int][]Instruction{}, map[int]bool{}
	for _, r := range f.Rows {
		body, err := r.compile()
		if err != nil {
			return nil, nil, err
		}
		for _, name := range r.Calls {
			n, known := numbers[name]
			switch {
			case !known:
				return nil, nil, fmt.Errorf("compile seccomp filter: unknown call %q", name)
			case n < 0: // the other architecture's
				continue
			case closed[n]:
				return nil, nil, fmt.Errorf("compile seccomp filter: a row for %s stands behind one that always holds", name)
			}
			closed[n] = len(r.When) == 0
			out[n] = append(out[n], body...)
		}
	}
	return out, closed, nil
}

// compile turns one row into instructions that fall through when a test fails.
func (r Row) compile() ([]Instruction, error) {
	if r.Why == "" || len(r.Calls) == 0 {
		return nil, errors.New("compile seccomp filter: a row needs calls and a reason")
	}
	var out []Instruction
	for i, t := range r.When {
		if t.Arg < 0 || t.Arg > 5 || t.Op > AnyBit || (t.Op == AnyBit && t.Mask == 0) {
			return nil, fmt.Errorf("compile seccomp filter: %s: test %d is malformed", r.Calls[0], i)
		}
		out = append(out, Instruction{Code: opLoad, K: offsetArgs + 8*uint32(t.Arg)})
		if t.Mask != 0 {
			out = append(out, Instruction{Code: opAnd, K: t.Mask})
		}
		out = append(out, Instruction{Code: opEqual, K: t.Value})
	}
	out = append(out, Instruction{Code: opReturn, K: uint32(r.Do)})
	at := 0
	for _, t := range r.When {
		for out[at].Code != opEqual {
			at++
		}
		away := len(out) - at - 1 // from the next instruction to behind the row
		if away > 255 {
			return nil, fmt.Errorf("compile seccomp filter: %s: too many tests", r.Calls[0])
		}
		switch t.Op {
		case Equal:
			out[at].Jf = uint8(away)
		case NotEqual:
			out[at].Jt = uint8(away)
		case AnyBit:
			out[at].K, out[at].Jt = 0, uint8(away)
		}
		at++
	}
	return out, nil
}

// tree emits a binary search over the leaves. The loaded number is in the
// accumulator on entry of each node; a leaf may overwrite it, since no path
// leaves a leaf but by a return.
func tree(leaves []leaf) []Instruction {
	if len(leaves) == 1 {
		return leaves[0].body
	}
	mid := len(leaves) / 2
	left, right := tree(leaves[:mid]), tree(leaves[mid:])
	node := []Instruction{{Code: opAtLeast, Jt: uint8(min(len(left), 255)), K: leaves[mid].first}}
	if len(left) > 255 { // conditional jumps reach 255, so step over a long one
		node = []Instruction{{Code: opAtLeast, Jf: 1, K: leaves[mid].first}, {Code: opJump, K: uint32(len(left))}}
	}
	return append(append(node, left...), right...)
}
