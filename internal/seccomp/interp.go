package seccomp

import (
	"errors"
	"fmt"
)

// Run executes a program on one call as the kernel would and returns the
// answer. It is for tests and for the doctor: nothing is enforced. A program
// that the kernel's checker would refuse is an error.
func Run(p []Instruction, d Data) (Action, error) {
	var acc uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		switch in.Code {
		case opLoad:
			v, err := d.word(in.K)
			if err != nil {
				return 0, err
			}
			acc = v
		case opAnd:
			acc &= in.K
		case opJump:
			pc += int(in.K)
		case opEqual:
			pc += branch(acc == in.K, in)
		case opGreater:
			pc += branch(acc > in.K, in)
		case opAtLeast:
			pc += branch(acc >= in.K, in)
		case opReturn:
			return Action(in.K), nil
		default:
			return 0, fmt.Errorf("run seccomp filter: unknown instruction %#x", in.Code)
		}
	}
	return 0, errors.New("run seccomp filter: the program runs off its end")
}

func branch(taken bool, in Instruction) int {
	if taken {
		return int(in.Jt)
	}
	return int(in.Jf)
}

// word reads 32 bits at a byte offset, little-endian as on both architectures.
func (d Data) word(offset uint32) (uint32, error) {
	switch {
	case offset == offsetNr:
		return d.Nr, nil
	case offset == offsetArch:
		return uint32(d.Arch), nil
	case offset >= offsetArgs && offset < offsetArgs+48 && offset%4 == 0:
		v := d.Args[(offset-offsetArgs)/8]
		if offset%8 == 4 {
			return uint32(v >> 32), nil
		}
		return uint32(v), nil
	}
	return 0, fmt.Errorf("run seccomp filter: load at offset %d", offset)
}
