package order

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// FuzzDecodeOrder: what is read as an order encodes to the very bytes it was
// read from.
func FuzzDecodeOrder(f *testing.F) {
	f.Add((&Order{}).Encode())
	f.Add((&Order{Layers: 7, Cwd: "/x", Env: []string{"A=b", ""}, View: []ViewOp{{Kind: "dir", Path: "/a", N: 1}}, Rules: []Rule{{"/", 3}}, Rlimits: []Rlimit{{1, 2, 3}}, Filter: []byte{1, 2}}).Encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Decode(b)
		if err == nil && !bytes.Equal(o.Encode(), b) {
			t.Fatalf("%x encodes to %x", b, o.Encode())
		}
	})
}

// TestRecords: what one side says of a run is what the other hears, and a
// record that was cut short is no panic and proves nothing it does not hold.
func TestRecords(t *testing.T) {
	proofs := []Proof{{"landlock-fs", "enforced", "abi 6", ""}, {"uid", "partial", "", "why"}}
	if b := ProofsRecord(proofs); b[0] != RecordReport || !slices.Equal(DecodeProofs(b[1:]), proofs) {
		t.Errorf("proofs: %q", b)
	}
	f := Failure{"landlock", "landlock-fs", "EPERM", "restrict self"}
	b := f.Record()
	if b[0] != RecordFailed || DecodeFailure(b[1:]) != f {
		t.Errorf("failure: %q", b)
	}
	for i := range b {
		if got := DecodeFailure(b[min(i, 1):i]); got == f {
			t.Errorf("a record cut at %d reads whole", i)
		}
		DecodeProofs(b[:i])
	}
}

// TestMemoryFile: an order is the same behind its memory file, and the file is
// closed once it was read.
func TestMemoryFile(t *testing.T) {
	o := &Order{Layers: 5, Cwd: "/x", Argv: []string{"a", ""}}
	fd, err := o.Memory()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(fd)
	if err != nil || !bytes.Equal(got.Encode(), o.Encode()) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("the memory file is still open: %v", err)
	}
}

// TestLayerOfAnError: the layer is found through wrapping, the errno keeps its name.
func TestLayerOfAnError(t *testing.T) {
	err := errors.Join(InLayer(report.UID, unix.EPERM))
	if LayerOf(err, "") != report.UID || LayerOf(unix.EPERM, report.Seccomp) != report.Seccomp {
		t.Errorf("layer %q", LayerOf(err, ""))
	}
	if ErrnoName(err) != "EPERM" || ErrnoName(errors.New("x")) != "" {
		t.Errorf("errno %q", ErrnoName(err))
	}
}

// FuzzRecords: what a child says of itself is read without a fault, and what it
// cannot have said proves nothing.
func FuzzRecords(f *testing.F) {
	f.Add(ProofsRecord([]Proof{{Layer: "seccomp", Got: "enforced", Level: "", Reason: ""}, {Layer: "ns-pid", Got: "partial", Reason: "no /proc"}})[1:])
	f.Add(Failure{Stage: "mounts", Layer: "ns-mount", Errno: "EPERM", Text: "mount: operation not permitted"}.Record()[1:])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, body []byte) {
		proofs := DecodeProofs(body)
		if len(proofs) > len(body) {
			t.Fatalf("%d proofs of %d bytes", len(proofs), len(body))
		}
		if again := DecodeProofs(ProofsRecord(proofs)[1:]); len(again) != len(proofs) {
			t.Fatalf("%d proofs become %d", len(proofs), len(again))
		}
		fault := DecodeFailure(body)
		if again := DecodeFailure(fault.Record()[1:]); again != fault {
			t.Fatalf("%+v becomes %+v", fault, again)
		}
	})
}
