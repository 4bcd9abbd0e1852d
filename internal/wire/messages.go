package wire

import (
	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// Kind is the first byte of a frame.
type Kind byte

// The kinds. Control frames are strict JSON of the type beside them; data
// frames are raw bytes. The table of directions and permissions is [Table].
const (
	KindBegin    Kind = 'b' // front -> monitor: empty, first frame, once: look at this host
	KindReady    Kind = 'h' // monitor -> front: Ready, answers Begin
	KindPlan     Kind = 'p' // front -> monitor: Request, what would run
	KindPlanned  Kind = 'P' // monitor -> front: Planned, answers one Plan
	KindConfig   Kind = 'm' // front -> monitor: raw bytes of the run's mcporter configuration, before Run
	KindRun      Kind = 'r' // front -> monitor: Request, run it
	KindStarted  Kind = 's' // monitor -> front: Started
	KindStdout   Kind = '1' // monitor -> front: raw bytes, at most 1 MiB a run
	KindStderr   Kind = '2' // monitor -> front: raw bytes, at most 1 MiB a run
	KindProgress Kind = 'g' // monitor -> front: Progress, at least every second while a run lasts
	KindResult   Kind = 'R' // monitor -> front: Result, ends one Run
	KindRefused  Kind = 'x' // monitor -> front: Refused, ends one Plan or Run
	KindCancel   Kind = 'c' // front -> monitor: empty, ends the run in flight
)

// Boot is what the owner's side hands the monitor when it starts it, in a
// sealed memory file: all authority comes from here and none from the front.
type Boot struct {
	Policy          policy.Policy `json:"policy"`
	Grants          grant.Grants  `json:"grants"`
	Hosted          bool          `json:"hosted"`
	Roots           []string      `json:"roots"`           // absolute, as configured; opened once
	DataDir         string        `json:"dataDir"`         // MCP_DATA_DIR when absolute, else ""
	FrontUID        int           `json:"frontUid"`        // the uid the front drops to; -1 = the monitor's own
	AllowUnscrubbed bool          `json:"allowUnscrubbed"` // MCP_SKILL_ALLOW_UNSCRUBBED=1
	AuditPath       string        `json:"auditPath"`       // the file that the front may ask for again, "" = none
	Version         string        `json:"version"`
}

// Ready is the monitor's answer to Begin: what was probed and proved on this host.
type Ready struct {
	Version      string          `json:"version"`
	Fence        report.Fence    `json:"fence"`        // for the server as a whole
	Interpreters []Interpreter   `json:"interpreters"` // the closed set, resolved
	Scrub        Scrub           `json:"scrub"`
	Roots        []RootState     `json:"roots"` // same order as Boot.Roots
	ProxySet     bool            `json:"proxySet"`
	Notes        []string        `json:"notes"`    // lines for the log, e.g. what a sweep removed
	EnvNames     map[string]bool `json:"envNames"` // ambient names (grant.Ambient) that are set, by name
}

// Interpreter is one resolved entry of the closed set.
type Interpreter struct {
	Name    string `json:"name"`
	Path    string `json:"path"`    // real path, "" when not found
	Version string `json:"version"` // "" when unknown
	Reason  string `json:"reason"`  // why it cannot run, "" when it can
}

// Scrub is the outcome of wiping the exec-time environment (contract, 7).
type Scrub struct {
	State  string `json:"state"`  // scrubbed, unsupported or failed
	Bytes  int64  `json:"bytes"`  // how many were wiped
	Reason string `json:"reason"` // when failed
}

// RootState says whether the monitor could open a root.
type RootState struct {
	Path  string `json:"path"`
	Real  string `json:"real"`  // real path, "" when it could not be opened
	Error string `json:"error"` // "" when it is open
}

// Request asks for one run, or for the plan of it. Every field is a claim of
// the front: the monitor checks each on its own copy of the owner's grants,
// roots and policy.
type Request struct {
	Root         int      `json:"root"`         // index into Boot.Roots
	Dir          string   `json:"dir"`          // skill directory below the root's real path, "." = the root
	Skill        string   `json:"skill"`        // base name of that directory
	Script       string   `json:"script"`       // below Dir, as declared
	Args         []string `json:"args"`         // at most 64, 8192 bytes in all, no NUL
	Interpreter  string   `json:"interpreter"`  // a name in the closed set
	Env          []string `json:"env"`          // declared and granted names
	TimeoutMs    int64    `json:"timeoutMs"`    // 1 to 300000
	ScriptSHA256 string   `json:"scriptSha256"` // lower-case hex of the script's bytes
	BundleSHA256 string   `json:"bundleSha256"` // lower-case hex, the approved bundle digest
	Hosts        []string `json:"hosts"`        // declared egress and hosts of the run's MCP dependencies
	Config       bool     `json:"config"`       // a mcporter configuration belongs to the run
}

// Planned answers a Plan: what the run would get. Names only, never values.
type Planned struct {
	CWD         string       `json:"cwd"`
	Interpreter Interpreter  `json:"interpreter"`
	EnvNames    []string     `json:"envNames"`  // sorted; exactly what the run would receive
	EnvNotSet   []string     `json:"envNotSet"` // asked for, granted, and not set here
	Fence       report.Fence `json:"fence"`
	Hosts       []string     `json:"hosts"`  // reachable by name; empty unless mode declared
	Reads       []string     `json:"reads"`  // trees readable beyond bundle and interpreter
	Writes      []string     `json:"writes"` // trees writable
	Home        string       `json:"home"`   // "" = as set; else a sentence: HOME is a private empty directory
	TimeoutMs   int64        `json:"timeoutMs"`
}

// Started says that the script is running; everything before it was set-up.
type Started struct {
	Pid int `json:"pid"` // as the monitor sees it
}

// Progress counts what a run has written so far.
type Progress struct {
	ElapsedMs   int64  `json:"elapsedMs"`
	StdoutBytes int64  `json:"stdoutBytes"`
	StderrBytes int64  `json:"stderrBytes"`
	LastLine    string `json:"lastLine"` // last complete line of stderr, at most 120 characters
}

// Result ends a run. ExitCode is nil when a signal ended the leader.
type Result struct {
	ExitCode        *int            `json:"exitCode"`
	Signal          string          `json:"signal"` // "" = none, else e.g. "SIGTERM"
	TimedOut        bool            `json:"timedOut"`
	TimeoutMs       int64           `json:"timeoutMs"`
	DurationMs      int64           `json:"durationMs"`
	StdoutTruncated bool            `json:"stdoutTruncated"`
	StderrTruncated bool            `json:"stderrTruncated"`
	EnvNames        []string        `json:"envNames"` // sorted
	Verdict         report.Verdict  `json:"verdict"`
	Evidence        report.Evidence `json:"evidence"`
	Fence           report.Fence    `json:"fence"`       // proved on this very run
	NetworkNote     string          `json:"networkNote"` // "" = none
}

// Refused ends a Plan or a Run that was not carried out.
type Refused struct {
	Code    string `json:"code"`    // one of the Code constants
	Message string `json:"message"` // what was refused and why
	Hint    string `json:"hint"`    // the one thing that would allow it
}

// The refusal codes.
const (
	CodeBusy        = "busy"         // another run is in flight
	CodeNotGranted  = "not-granted"  // script or variable outside the owner's grants
	CodeInterpreter = "interpreter"  // not in the closed set, or cannot run here
	CodePath        = "path"         // outside the root or the skill, not a regular file, or out of the run's reach
	CodeArgs        = "args"         // NUL, too many, too long
	CodeChanged     = "changed"      // the script's bytes are not the approved ones
	CodeFence       = "fence"        // a required layer is missing
	CodeUnscrubbed  = "unscrubbed"   // the environment could not be wiped
	CodeSetup       = "setup-failed" // the child could not be set up; nothing ran
	CodeDisabled    = "disabled"     // the owner disabled the skill
	CodeInvalid     = "invalid"      // a malformed request
)
