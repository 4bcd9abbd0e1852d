package report

// Verdict says in one word how a run ended. exitCode, signal and timedOut keep
// the contract's meaning beside it.
type Verdict string

// The verdicts (fence specification, section 12).
const (
	Exited           Verdict = "exited"             // it ended by itself; the exit code says how
	Signaled         Verdict = "signaled"           // a signal ended it that nothing here sent
	Timeout          Verdict = "timeout"            // its time limit ended it
	TimeoutAfterExit Verdict = "timeout-after-exit" // the leader is gone, pipes were held to the deadline
	OOMCgroup        Verdict = "oom-cgroup"         // the kernel killed the leader for memory
	OOMChild         Verdict = "oom-child"          // the kernel killed a descendant for memory
	OOMHeap          Verdict = "oom-heap"           // V8 ended itself, exit 134
	OOMWatch         Verdict = "oom-watch"          // the helper ended the run for memory: no group bounds it here
	CPU              Verdict = "cpu"                // RLIMIT_CPU
	Pids             Verdict = "pids"               // the process limit was hit
	Disk             Verdict = "disk"               // the file-size or tmp limit was hit
	OutputFlood      Verdict = "output-flood"       // it wrote more than the policy lets anything write
	DeniedExec       Verdict = "denied-exec"        // the fence refused the program it wanted to run
	SetupFailed      Verdict = "setup-failed"       // the fence could not be set up, nothing ran; told by the status pipe, never by an exit code
	Cancelled        Verdict = "cancelled"          // the client cancelled the call
	NetworkLost      Verdict = "network-lost"       // the process that is the run's network ended before the run
	KillIncomplete   Verdict = "kill-incomplete"    // something survived; evidence names it
)

// Evidence is what the run was measured to have used.
type Evidence struct {
	WallMs          int64      `json:"wallMs"`
	CPUMs           int64      `json:"cpuMs"`
	PeakMemoryBytes int64      `json:"peakMemoryBytes"`      // 0: not measured
	PeakPids        int64      `json:"peakPids"`             // 0: not measured
	StdoutBytes     int64      `json:"stdoutBytes"`          // all bytes, kept or not
	StderrBytes     int64      `json:"stderrBytes"`          // all bytes, kept or not
	OOMKills        int64      `json:"oomKills"`             // kernel counter, after minus before
	Survivors       []Survivor `json:"survivors,omitempty"`  // processes that could not be ended in time
	Egress          []Host     `json:"egress,omitempty"`     // per host, mode declared only
	Leftovers       []string   `json:"leftovers,omitempty"`  // cgroups, directories handed to the background reaper
	SetupStage      string     `json:"setupStage,omitempty"` // the step that failed
	SetupErrno      string     `json:"setupErrno,omitempty"` // e.g. "EPERM"
}

// Survivor is a process that outlived the kill.
type Survivor struct {
	Pid   int    `json:"pid"`
	State string `json:"state"` // as in /proc/PID/stat, e.g. "D"
}

// Host is what one run did with one host.
type Host struct {
	Host        string `json:"host"`
	Connections int64  `json:"connections"`
	BytesIn     int64  `json:"bytesIn"`
	BytesOut    int64  `json:"bytesOut"`
	Refused     int64  `json:"refused"`
	Reason      string `json:"reason,omitempty"` // of the first refusal
}
