package frontlock

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"skill-mcp/internal/seccomp"
)

var update = flag.Bool("update", false, "write the stored programs")

// shapes are all that a front can have.
func shapes(pid int) []shape {
	return []shape{{pid: pid}, {pid: pid, write: true}, {pid: pid, accept: true}, {pid: pid, write: true, accept: true}}
}

func TestStoredProgramsAreTheRowsCompiled(t *testing.T) {
	for _, arch := range []seccomp.Arch{seccomp.AMD64, seccomp.ARM64} {
		for _, s := range shapes(pidMark) {
			p, err := seccomp.Compile(filter(arch, s))
			if err != nil {
				t.Fatal(err)
			}
			file := programFile(arch, s)
			if *update {
				os.MkdirAll("programs", 0o755)
				if err := os.WriteFile(file, encode(p), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			stored, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(stored, encode(p)) {
				t.Errorf("%s is not what the rows compile to (%v): run with -update", file, err)
			}
		}
	}
}

// TestTheFilterDecides runs the stored programs without a kernel.
func TestTheFilterDecides(t *testing.T) {
	const pid = 4711
	deny, none := seccomp.Errno(errnoPerm), seccomp.Errno(errnoNoSys)
	for _, c := range []struct {
		name  string
		call  string
		args  [6]uint64
		shape shape
		want  seccomp.Action
	}{
		{name: "reading is allowed", call: "read", want: seccomp.Allow},
		{name: "a program is not started", call: "execve", want: deny},
		{name: "a thread is", call: "clone", args: [6]uint64{cloneThread | 0x100}, want: seccomp.Allow},
		{name: "a process is not", call: "clone", args: [6]uint64{17}, want: deny},
		{name: "the upper half of the flags does not help", call: "clone", args: [6]uint64{cloneThread << 32}, want: deny},
		{name: "its own threads get signals", call: "tgkill", args: [6]uint64{pid}, want: seccomp.Allow},
		{name: "others do not", call: "tgkill", args: [6]uint64{pid + 1}, want: none},
		{name: "a group does not", call: "kill", args: [6]uint64{0xffffffff}, want: none},
		{name: "opening to read", call: "openat", args: [6]uint64{0, 0, 0x80000}, want: seccomp.Allow},
		{name: "opening to write", call: "openat", args: [6]uint64{0, 0, 1}, want: deny},
		{name: "opening to write in the store", call: "openat", args: [6]uint64{0, 0, 1}, shape: shape{write: true}, want: seccomp.Allow},
		{name: "renaming without a store", call: "renameat", want: none},
		{name: "taking connections", call: "accept4", shape: shape{accept: true}, want: seccomp.Allow},
		{name: "taking none over stdio", call: "accept4", want: none},
		{name: "writing to a terminal's input", call: "ioctl", args: [6]uint64{0, 0x5412}, want: none},
		{name: "asking a terminal", call: "ioctl", args: [6]uint64{0, tcgets}, want: seccomp.Allow},
		{name: "signals through a descriptor's owner", call: "fcntl", args: [6]uint64{0, 8}, want: none},
		{name: "another process's limits", call: "prlimit64", args: [6]uint64{1}, want: none},
		{name: "memory to run", call: "mprotect", args: [6]uint64{0, 0, 5}, want: deny},
		{name: "memory to write", call: "mprotect", args: [6]uint64{0, 0, 3}, want: seccomp.Allow},
		{name: "a call of a later kernel", call: "", want: none},
	} {
		t.Run(c.name, func(t *testing.T) {
			numbers, err := seccomp.Numbers(seccomp.AMD64)
			if err != nil {
				t.Fatal(err)
			}
			nr := uint32(seccomp.Highest + 7)
			if c.call != "" {
				nr = uint32(numbers[c.call])
			}
			c.shape.pid = pid
			p, err := program(seccomp.AMD64, c.shape)
			if err != nil {
				t.Fatal(err)
			}
			got, err := seccomp.Run(p, seccomp.Data{Nr: nr, Arch: seccomp.AMD64, Args: c.args})
			if err != nil || got != c.want {
				t.Errorf("answered %#x, want %#x (%v)", got, c.want, err)
			}
		})
	}
}

func TestEveryRowHasAReason(t *testing.T) {
	for _, s := range shapes(1) {
		for _, r := range filter(seccomp.AMD64, s).Rows {
			if r.Why == "" || len(r.Calls) == 0 {
				t.Errorf("row %v", r)
			}
		}
	}
}
