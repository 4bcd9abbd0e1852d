// Package report holds what the fence says of itself: layers, verdicts and
// evidence. Both sides of the wall and the doctor print these types.
//
// It cannot probe, decide or enforce anything: it is data, with the order and
// the words that every reader sees. Any package may import it; it imports
// nothing of the product.
package report

// Layer names one layer of the fence. The set is closed and its order is the
// order in which people read it (the contract, fence report).
type Layer string

// The layers, in the order of every report.
const (
	Environ         Layer = "environ"          // the helper's exec-time environment is wiped
	ProcessGroup    Layer = "process-group"    // own session and group, ended as one
	Deadline        Layer = "deadline"         // wall clock, SIGTERM then SIGKILL
	Capture         Layer = "capture"          // 1 MiB per stream, the rest drained
	Rlimits         Layer = "rlimits"          // descriptors, file size, core, stack, cpu
	NoNewPrivs      Layer = "no-new-privs"     // setuid files give nothing
	Capabilities    Layer = "capabilities"     // all five sets empty, securebits locked
	UID             Layer = "uid"              // a user id of the run's own
	LandlockFS      Layer = "landlock-fs"      // file access by allow-list
	LandlockNet     Layer = "landlock-net"     // TCP bind and connect by port
	LandlockScope   Layer = "landlock-scope"   // signals and abstract sockets stay inside
	Seccomp         Layer = "seccomp"          // system calls by deny-list
	CgroupMemory    Layer = "cgroup-memory"    // memory and swap bounded together
	CgroupPids      Layer = "cgroup-pids"      // processes and threads bounded
	CgroupCPU       Layer = "cgroup-cpu"       // share of the processors bounded
	CgroupKill      Layer = "cgroup-kill"      // the whole tree is killed at once
	NSPid           Layer = "ns-pid"           // sees only its own processes
	NSMount         Layer = "ns-mount"         // sees only the files it was given
	NSNet           Layer = "ns-net"           // has a network of its own
	NSIpc           Layer = "ns-ipc"           // System V and POSIX queues of its own
	PrivateTmp      Layer = "private-tmp"      // a sized /tmp that ends with the run
	ParentProtected Layer = "parent-protected" // the monitor's memory and environment are out of reach
)

// Layers returns every layer once, in report order.
func Layers() []Layer {
	return []Layer{
		Environ, ProcessGroup, Deadline, Capture, Rlimits, NoNewPrivs, Capabilities, UID,
		LandlockFS, LandlockNet, LandlockScope, Seccomp,
		CgroupMemory, CgroupPids, CgroupCPU, CgroupKill,
		NSPid, NSMount, NSNet, NSIpc, PrivateTmp, ParentProtected,
	}
}

// Known reports whether l is one of [Layers].
func (l Layer) Known() bool {
	for _, k := range Layers() {
		if k == l {
			return true
		}
	}
	return false
}

// Want is what the policy asks of a layer.
type Want string

// The three wants.
const (
	Require Want = "require" // missing: the run is refused, with the reason and the remedy
	Prefer  Want = "prefer"  // missing: the run goes on and the report says so
	Off     Want = "off"     // not attempted
)

// Got is what was proved of a layer.
type Got string

// The four outcomes.
const (
	Enforced Got = "enforced" // the forbidden act was tried and refused
	Partial  Got = "partial"  // holds in part; the reason says which part does not
	Absent   Got = "absent"   // asked for and not there; the reason has the cause
	NotAsked Got = "off"      // the policy does not ask for it
)

// Row is one layer of a report.
type Row struct {
	Layer  Layer  `json:"layer"`
	Want   Want   `json:"want"`
	Got    Got    `json:"got"`
	Level  string `json:"level,omitempty"`  // how strong, e.g. "abi 7", "512 MiB", "v1"
	Reason string `json:"reason,omitempty"` // why it is not enforced: stage, errno, what is missing
	Remedy string `json:"remedy,omitempty"` // the one thing that would enable it on this host
}

// Fence is the report of one run, or of the server when nothing runs.
type Fence struct {
	Policy  string `json:"policy"`  // name of the effective policy
	Network string `json:"network"` // none, proxy, declared or open
	Layers  []Row  `json:"layers"`  // one row per layer, in report order
}

// Missing returns the rows that the policy requires and that are not enforced
// (absent, or partial where the whole was required).
func (f Fence) Missing() []Row {
	var out []Row
	for _, r := range f.Layers {
		if r.Want == Require && r.Got != Enforced {
			out = append(out, r)
		}
	}
	return out
}

// Row returns the row of layer l, or the zero row.
func (f Fence) Row(l Layer) Row {
	for _, r := range f.Layers {
		if r.Layer == l {
			return r
		}
	}
	return Row{}
}
