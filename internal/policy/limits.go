package policy

// Limits bound one run. Zero means: the default of the next wider source.
type Limits struct {
	MemoryBytes      int64 `json:"memoryBytes"`      // cgroup memory, swap included
	HeapPercent      int64 `json:"heapPercent"`      // of memory, for --max-old-space-size where it is needed
	Pids             int64 `json:"pids"`             // processes and threads
	NProc            int64 `json:"nproc"`            // RLIMIT_NPROC, only with an own uid
	OpenFiles        int64 `json:"openFiles"`        // RLIMIT_NOFILE
	FileBytes        int64 `json:"fileBytes"`        // RLIMIT_FSIZE
	StackBytes       int64 `json:"stackBytes"`       // RLIMIT_STACK
	CPUPercent       int64 `json:"cpuPercent"`       // of one processor; 100 = one whole
	TmpBytes         int64 `json:"tmpBytes"`         // size of /tmp
	TmpInodes        int64 `json:"tmpInodes"`        // files in /tmp
	ShmBytes         int64 `json:"shmBytes"`         // size of /dev/shm
	WallMs           int64 `json:"wallMs"`           // ceiling of a declared timeout
	OutputFloodBytes int64 `json:"outputFloodBytes"` // total over both streams that ends the run
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// Defaults returns the limits of the shipped policies. Reasons are beside the
// numbers; figures were measured on node 20 to 26 (fence specification, 7).
func Defaults() Limits {
	return Limits{
		MemoryBytes:      512 * mib, // node idles at 42 MiB; a worker and fetch need 64
		HeapPercent:      65,        // a readable V8 message before a SIGKILL
		Pids:             128,       // 7 threads at start, 11 with a worker, 7 per child node
		NProc:            256,       // uid-wide count, so only with an own uid
		OpenFiles:        1024,
		FileBytes:        64 * mib,
		StackBytes:       8 * mib,
		CPUPercent:       200,
		TmpBytes:         64 * mib, // charged to the memory limit
		TmpInodes:        8192,
		ShmBytes:         16 * mib,
		WallMs:           300_000, // the contract's ceiling
		OutputFloodBytes: 256 * mib,
	}
}

// Floors returns the least values a policy may set: below them the interpreter
// hangs or aborts instead of failing with a message.
func Floors() Limits {
	return Limits{
		MemoryBytes: 64 * mib, HeapPercent: 10, Pids: 32, NProc: 32, OpenFiles: 64,
		FileBytes: mib, StackBytes: mib, CPUPercent: 5, TmpBytes: mib, TmpInodes: 64,
		ShmBytes: 64 * kib, WallMs: 1000, OutputFloodBytes: 4 * mib,
	}
}

// Merge returns l with its zero fields taken from base.
func (l Limits) Merge(base Limits) Limits {
	out := l
	for i, p := range out.fields() {
		if *p == 0 {
			*p = *base.fields()[i]
		}
	}
	return out
}

// Min returns, field by field, the smaller of l and o.
func (l Limits) Min(o Limits) Limits {
	out := l
	for i, p := range out.fields() {
		*p = min(*p, *o.fields()[i])
	}
	return out
}

// fields returns pointers to all fields in declaration order, so that Merge
// and Min cannot forget one (a test compares the count with the struct).
func (l *Limits) fields() []*int64 {
	return []*int64{
		&l.MemoryBytes, &l.HeapPercent, &l.Pids, &l.NProc, &l.OpenFiles, &l.FileBytes, &l.StackBytes,
		&l.CPUPercent, &l.TmpBytes, &l.TmpInodes, &l.ShmBytes, &l.WallMs, &l.OutputFloodBytes,
	}
}

// Ceilings returns the largest values a policy may set: beyond them a number is
// a slip of the pen, not a wish, or breaks another promise.
func Ceilings() Limits {
	return Limits{
		MemoryBytes: 1 << 40, // one TiB
		HeapPercent: 90,      // V8 needs room beside its heap for the message
		Pids:        32768,   // pid_max of a small machine
		NProc:       32768,
		OpenFiles:   1 << 20, // nr_open of a stock kernel
		FileBytes:   1 << 40,
		StackBytes:  1 << 30,
		CPUPercent:  100 * 1024,
		TmpBytes:    1 << 40,
		TmpInodes:   1 << 30,
		ShmBytes:    1 << 40,
		WallMs:      300_000, // the contract's ceiling of a declared timeout
		// A run that writes this much has only one purpose.
		OutputFloodBytes: 1 << 40,
	}
}
