package frontlock

import (
	"embed"
	"encoding/binary"
	"fmt"

	"skill-mcp/internal/seccomp"
)

// The filter is compiled ahead of time, since compiling it takes longer than
// all other parts of the lock together and the front starts once per client. A
// test compiles the rows again and compares; -update writes the files.
//
//go:embed programs
var programs embed.FS

// pidMark stands for the front's pid in a stored program. It is no pid that a
// kernel gives (pid_max is at most 2^22) and no other value of a rule.
const pidMark = 0x7ffffffe

// programFile names the stored program of a shape.
func programFile(arch seccomp.Arch, s shape) string {
	name := map[seccomp.Arch]string{seccomp.AMD64: "amd64", seccomp.ARM64: "arm64"}[arch]
	if s.write {
		name += "-write"
	}
	if s.accept {
		name += "-accept"
	}
	return "programs/" + name + ".bpf"
}

// program gives the stored program of a shape, for the front's own pid.
func program(arch seccomp.Arch, s shape) ([]seccomp.Instruction, error) {
	text, err := programs.ReadFile(programFile(arch, s))
	if err != nil {
		return nil, fmt.Errorf("no filter for this architecture: %w", err)
	}
	out := make([]seccomp.Instruction, len(text)/instructionBytes)
	for i := range out {
		b := text[i*instructionBytes:]
		out[i] = seccomp.Instruction{
			Code: binary.LittleEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.LittleEndian.Uint32(b[4:]),
		}
		if out[i].K == pidMark {
			out[i].K = uint32(s.pid)
		}
	}
	return out, nil
}

// instructionBytes is the size of struct sock_filter.
const instructionBytes = 8

// encode is the stored form of a program.
func encode(p []seccomp.Instruction) []byte {
	out := []byte{}
	for _, i := range p {
		out = binary.LittleEndian.AppendUint16(out, i.Code)
		out = append(out, i.Jt, i.Jf)
		out = binary.LittleEndian.AppendUint32(out, i.K)
	}
	return out
}
