package seccomp

import (
	"encoding/binary"
	"testing"
)

// rows of every shape: plain, one test, several tests, several rows a call.
var shapes = Filter{
	Arch: AMD64, Default: Allow, Unknown: Errno(38),
	Rows: []Row{
		{Calls: []string{"ptrace", "bpf"}, Do: Errno(1), Why: "test"},
		{Calls: []string{"clone"}, When: []Test{{Arg: 0, Op: AnyBit, Mask: 0x7e020000}}, Do: Errno(1), Why: "test"},
		{Calls: []string{"socket"}, When: []Test{{Arg: 0, Op: NotEqual, Value: 1}, {Arg: 0, Op: NotEqual, Value: 2}}, Do: Errno(97), Why: "test"},
		{Calls: []string{"socket"}, When: []Test{{Arg: 2, Op: Equal, Value: 262}}, Do: Errno(93), Why: "test"},
		{Calls: []string{"personality"}, When: []Test{{Arg: 0, Op: NotEqual}, {Arg: 0, Op: NotEqual, Value: 0xffffffff}}, Do: Errno(1), Why: "test"},
		{Calls: []string{"clone3"}, Do: Errno(38), Why: "test"},
	},
}

func TestCompiledFilter(t *testing.T) {
	p, err := Compile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	const high = uint64(0xdeadbeef) << 32
	for _, c := range []struct {
		name string
		d    Data
		want Action
	}{
		{"an ordinary call is allowed", Data{Nr: 0, Arch: AMD64}, Allow},
		{"a denied call fails", Data{Nr: 101, Arch: AMD64}, Errno(1)},
		{"the call before it is allowed", Data{Nr: 100, Arch: AMD64}, Allow},
		{"the call after it is allowed", Data{Nr: 102, Arch: AMD64}, Allow},
		{"another architecture is killed", Data{Nr: 0, Arch: 0x40000003}, KillProcess},
		{"the x32 bit is killed", Data{Nr: x32Bit, Arch: AMD64}, KillProcess},
		{"number -1 is killed", Data{Nr: 0xffffffff, Arch: AMD64}, KillProcess},
		{"the highest known number is allowed", Data{Nr: Highest, Arch: AMD64}, Allow},
		{"a number above it is unknown", Data{Nr: Highest + 1, Arch: AMD64}, Errno(38)},
		{"a thread is allowed", Data{Nr: 56, Arch: AMD64, Args: [6]uint64{0x3d0f00}}, Allow},
		{"a namespace is not", Data{Nr: 56, Arch: AMD64, Args: [6]uint64{0x10000000}}, Errno(1)},
		{"upper bits do not hide a flag", Data{Nr: 56, Arch: AMD64, Args: [6]uint64{high | 0x10000000}}, Errno(1)},
		{"an allowed family", Data{Nr: 41, Arch: AMD64, Args: [6]uint64{2, 1, 0}}, Allow},
		{"upper bits do not hide a family", Data{Nr: 41, Arch: AMD64, Args: [6]uint64{high | 40, 1, 0}}, Errno(97)},
		{"upper bits do not spoil an allowed family", Data{Nr: 41, Arch: AMD64, Args: [6]uint64{high | 2, 1, 0}}, Allow},
		{"the second row of a call is reached", Data{Nr: 41, Arch: AMD64, Args: [6]uint64{2, 1, high | 262}}, Errno(93)},
		{"personality may be asked", Data{Nr: 135, Arch: AMD64, Args: [6]uint64{0xffffffff}}, Allow},
		{"personality may not be set", Data{Nr: 135, Arch: AMD64, Args: [6]uint64{0x40000}}, Errno(1)},
	} {
		got, err := Run(p, c.d)
		if err != nil || got != c.want {
			t.Errorf("%s: %#x %v, want %#x", c.name, uint32(got), err, uint32(c.want))
		}
	}
}

// TestCompiledFilterAgreesWithItsRows compares program and rows over every
// number and a grid of arguments.
func TestCompiledFilterAgreesWithItsRows(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		f := shapes
		f.Arch = arch
		p, err := Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		for nr := uint32(0); nr <= Highest+2; nr++ {
			for _, v := range []uint64{0, 1, 2, 40, 262, 0x10000000, 0xffffffff, 1 << 40} {
				d := Data{Nr: nr, Arch: arch, Args: [6]uint64{v, v, v, v, v, v}}
				if got, err := Run(p, d); err != nil || got != f.decide(d) {
					t.Fatalf("%#x %d %#x: %#x %v, want %#x", arch, nr, v, got, err, f.decide(d))
				}
			}
		}
	}
}

// decide is the rows' meaning, without a program.
func (f Filter) decide(d Data) Action {
	if d.Arch != f.Arch || (f.Arch == AMD64 && d.Nr >= x32Bit) {
		return KillProcess
	}
	if d.Nr > Highest {
		return f.Unknown
	}
	numbers, _ := Numbers(f.Arch)
	for _, r := range f.Rows {
		for _, c := range r.Calls {
			if numbers[c] == int(d.Nr) && r.holds(d) {
				return r.Do
			}
		}
	}
	return f.Default
}

func (r Row) holds(d Data) bool {
	for _, t := range r.When {
		v := uint32(d.Args[t.Arg])
		if t.Mask != 0 {
			v &= t.Mask
		}
		if (t.Op == Equal && v != t.Value) || (t.Op == NotEqual && v == t.Value) || (t.Op == AnyBit && v == 0) {
			return false
		}
	}
	return true
}

func TestCompileRefuses(t *testing.T) {
	ok := Row{Calls: []string{"ptrace"}, Do: Errno(1), Why: "test"}
	for name, f := range map[string]Filter{
		"an unknown call":           {Arch: AMD64, Rows: []Row{{Calls: []string{"nosuch"}, Why: "test"}}},
		"a row without a reason":    {Arch: AMD64, Rows: []Row{{Calls: []string{"read"}}}},
		"a row that is not reached": {Arch: AMD64, Rows: []Row{ok, ok}},
		"an unknown architecture":   {Arch: 7},
		"a malformed test":          {Arch: AMD64, Rows: []Row{{Calls: []string{"read"}, When: []Test{{Arg: 6}}, Why: "test"}}},
	} {
		if _, err := Compile(f); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), uint32(41), uint64(40))
	f.Add([]byte{200, 9, 255, 1, 7, 7, 7, 7, 3, 1, 1, 1, 1, 1, 1, 1}, uint32(3), uint64(1)<<33)
	names := []string{"read", "write", "socket", "clone", "ioctl", "ptrace", "mseal", "close_range"}
	f.Fuzz(func(t *testing.T, b []byte, nr uint32, arg uint64) {
		filter := Filter{Arch: AMD64, Default: Allow, Unknown: Errno(38)}
		for ; len(b) >= 8 && len(filter.Rows) < 40; b = b[8:] {
			r := Row{Calls: []string{names[b[0]%8]}, Do: Errno(uint16(b[1])), Why: "fuzz"}
			for i := byte(0); i < b[2]%3; i++ {
				r.When = append(r.When, Test{Arg: int(b[3] % 6), Op: Op(b[4+i] % 3), Mask: uint32(b[6]), Value: binary.LittleEndian.Uint32(b[4:])})
			}
			filter.Rows = append(filter.Rows, r)
		}
		p, err := Compile(filter)
		if err != nil {
			return
		}
		d := Data{Nr: nr % (Highest + 3), Arch: AMD64, Args: [6]uint64{arg, arg, arg, arg, arg, arg}}
		if got, err := Run(p, d); err != nil || got != filter.decide(d) {
			t.Fatalf("%+v: %#x %v, want %#x", d, got, err, filter.decide(d))
		}
	})
}
