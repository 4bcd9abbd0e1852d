package spawn

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/seccomp"
)

// TestSocketsOfTheFilter asks the compiled filter itself: this kernel need not
// have the transports that another has.
func TestSocketsOfTheFilter(t *testing.T) {
	numbers, err := seccomp.Numbers(seccomp.Native())
	if err != nil {
		t.Fatal(err)
	}
	const inet, inet6, stream = unix.AF_INET, unix.AF_INET6, unix.SOCK_STREAM
	for _, c := range []struct {
		name                  string
		call                  string
		args                  [6]uint64
		proxy, declared, open seccomp.Action
	}{
		{"TCP", "socket", [6]uint64{inet, stream}, seccomp.Allow, seccomp.Allow, seccomp.Allow},
		{"TCP by its number, with flags", "socket", [6]uint64{inet6, stream | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, seccomp.Allow, seccomp.Allow, seccomp.Allow},
		{"UDP", "socket", [6]uint64{inet, unix.SOCK_DGRAM}, noProto, seccomp.Allow, seccomp.Allow},
		{"multipath TCP", "socket", [6]uint64{inet, stream, 262}, noProto, noProto, noProto},
		{"multipath TCP with flags", "socket", [6]uint64{inet6, stream | unix.SOCK_NONBLOCK, 262}, noProto, noProto, noProto},
		{"SCTP", "socket", [6]uint64{inet, stream, 132}, noProto, noProto, noProto},
		{"SCTP of messages", "socket", [6]uint64{inet, unix.SOCK_SEQPACKET, 132}, noProto, noProto, noProto},
		{"DCCP", "socket", [6]uint64{inet, unix.SOCK_DCCP, 33}, noProto, noProto, noProto},
		{"SMC", "socket", [6]uint64{inet, stream, 256}, noProto, noProto, noProto},
		{"SMC as a family", "socket", [6]uint64{unix.AF_SMC, stream}, noFamily, noFamily, noFamily},
		{"TCP of another family's number", "socket", [6]uint64{unix.AF_VSOCK, stream}, noFamily, noFamily, noFamily},
		{"the upper half of the protocol", "socket", [6]uint64{inet, stream, 132 | 1<<32}, noProto, noProto, noProto},
		{"SMC over a TCP socket", "setsockopt", [6]uint64{3, unix.IPPROTO_TCP, 31}, denied, denied, denied},
		{"no delay", "setsockopt", [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, seccomp.Allow, seccomp.Allow, seccomp.Allow},
		{"listening on a port that nobody chose", "listen", [6]uint64{3, 1}, denied, seccomp.Allow, seccomp.Allow},
		{"a pair of sockets", "socketpair", [6]uint64{unix.AF_UNIX, stream}, seccomp.Allow, seccomp.Allow, seccomp.Allow},
		{"a socket with a path", "socket", [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, seccomp.Allow, seccomp.Allow, seccomp.Allow},
	} {
		for mode, want := range map[policy.Network]seccomp.Action{policy.NetProxy: c.proxy, policy.NetDeclared: c.declared, policy.NetOpen: c.open} {
			b, err := filter(mode, false, true)
			if err != nil {
				t.Fatal(err)
			}
			p := unsafe.Slice((*seccomp.Instruction)(unsafe.Pointer(&b[0])), len(b)/8)
			got, err := seccomp.Run(p, seccomp.Data{Nr: uint32(numbers[c.call]), Arch: seccomp.Native(), Args: c.args})
			if err != nil || got != want {
				t.Errorf("%s in mode %s: %#x %v, want %#x", c.name, mode, got, err, want)
			}
		}
	}
}
