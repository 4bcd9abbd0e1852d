package seccomp

// Arch is an AUDIT_ARCH value of linux/audit.h.
type Arch uint32

// The architectures whose system call numbers are known here.
const (
	AMD64 Arch = 0xc000003e
	ARM64 Arch = 0xc00000b7
)

// Action is what the kernel does with a call: a SECCOMP_RET value.
type Action uint32

// The actions used here (linux/seccomp.h).
const (
	Allow       Action = 0x7fff0000
	KillProcess Action = 0x80000000
)

// Errno makes the call fail with the errno, which is 1 to 4095.
func Errno(errno uint16) Action { return 0x00050000 | Action(errno) }

// Op compares the low 32 bits of an argument.
type Op byte

// The comparisons; each is made after `argument & Mask`.
const (
	Equal    Op = iota // masked argument == Value
	NotEqual           // masked argument != Value
	AnyBit             // masked argument != 0; Value is not used
)

// Test is one condition on one argument of a call.
type Test struct {
	Arg   int    // 0 to 5
	Op    Op     //
	Mask  uint32 // 0 means all 32 bits
	Value uint32
}

// Row answers its calls with Do when every test in When holds; no test means
// always. For one call the first row that holds decides. Why is the reason a
// reviewer reads; a row without one is refused.
type Row struct {
	Calls []string // names as the kernel writes them
	When  []Test
	Do    Action
	Why   string
}

// Filter is a whole program as data.
type Filter struct {
	Arch    Arch
	Rows    []Row
	Default Action // for known numbers that no row decides
	Unknown Action // for numbers above [Highest]
}

// Data is what the kernel shows a program of one call (struct seccomp_data).
type Data struct {
	Nr   uint32
	Arch Arch
	IP   uint64
	Args [6]uint64
}

// Instruction is one classic BPF instruction, laid out as struct sock_filter.
type Instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}
