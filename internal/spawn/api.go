package spawn

import (
	"os"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// Spec is everything one child needs. The monitor has checked all of it.
type Spec struct {
	Policy  policy.Policy  // wants per layer, read and write rows
	Limits  policy.Limits  // effective for this skill
	Network policy.Network // effective for this skill

	SkillDir   *os.File // O_PATH, the skill's real directory
	SkillPath  string   // its absolute path, which is the run's cwd
	ScriptPath string   // absolute real path of the script inside SkillPath
	Exec       Program  // the interpreter
	Args       []string // after the script
	Env        []string // exact NAME=value list; TMPDIR and HOME are set by the fence where it must
	Read       []string // absolute trees beyond bundle and interpreter
	DataDir    string   // MCP_DATA_DIR, "" = none
	Config     []byte   // mcporter configuration to write into the run's private directory, nil = none
	ProxyPort  int      // TCP port Landlock allows in modes proxy and declared's fallback, 0 = none
	ProxyHost  string   // its host, for a forwarder where the run has a network of its own

	Stdout, Stderr *os.File      // write ends the script gets
	Timeout        time.Duration // wall clock, for RLIMIT_CPU
}

// Program is a resolved interpreter: opened once, with the files it needs.
type Program struct {
	Name string
	Path string   // real path
	File *os.File // open for execveat
	Args []string // before the script
	Env  []string // NAME=value it needs
	Read []string // ELF closure, prefix libraries, absolute
}

// Exit is how the leader ended.
type Exit struct {
	Code   int    // valid when Signal is ""
	Signal string // e.g. "SIGKILL"
}

// Usage is what the counters say of a whole tree after it has ended.
type Usage struct {
	CPU        time.Duration
	PeakMemory int64 // bytes, 0 = not measured
	PeakPids   int64 // 0 = not measured
	OOMKills   int64 // kernel counter, after minus before
	PidsHit    int64 // how often the process limit refused a fork
	DiskFull   bool  // the sized tmp was full at the end, in bytes or files
	LeaderOOM  bool  // the leader itself was killed for memory
}

// SetupError is a step that failed before the script ran.
type SetupError struct {
	Stage string       // step name, e.g. "landlock"
	Layer report.Layer // "" when the step belongs to none
	Errno string       // e.g. "EPERM"
	Text  string       // what was being done
}

// Error says the stage, what was being done and the errno.
func (e *SetupError) Error() string {
	return "set up the run: " + e.Stage + ": " + e.Text + ": " + e.Errno
}
