package frontlock

import (
	"fmt"
	"strings"

	"skill-mcp/internal/report"
)

// Options is what the front keeps. The zero value keeps nothing but its open
// descriptors.
type Options struct {
	Roots     []string // directory trees it reads, absolute; a missing one is skipped
	ReadFiles []string // single files it reads again later, e.g. the policy
	Write     []string // directories it makes files in: the store of spent tokens
	Enter     []string // directories above those, which launch does not own: the data directory
	Accept    bool     // it accepts connections on a socket that is already open
	// Without names parts to leave out, for the tests that show what each part
	// stops. The product leaves out nothing.
	Without []string
}

// Identity is the user the front becomes. The zero value is never chosen for a
// server that was started as root.
type Identity struct {
	UID    int    `json:"uid"` // -1: stays who it is
	GID    int    `json:"gid"`
	Reason string `json:"reason"` // why no stronger one
}

// The parts of the lock, as the report and Options.Without name them.
const (
	PartUser     = "user"             // a user without privilege
	PartCaps     = "capabilities"     // five sets empty, bounding set empty, securebits locked
	PartNNP      = "no-new-privs"     // no program gives rights back
	PartDumpable = "dumpable"         // no other process of the user reads its memory
	PartFiles    = "files"            // Landlock: the roots, read only
	PartTCP      = "tcp"              // Landlock: no bind, no connect
	PartScope    = "scope"            // Landlock: no signal and no abstract socket outside
	PartCalls    = "calls"            // seccomp: the calls it makes and no other
	PartNoExec   = "no-writable-code" // seccomp: no memory becomes a program
)

// Row says what holds of one part.
type Row struct {
	Part   string     `json:"part"`
	Got    report.Got `json:"got"`
	Level  string     `json:"level,omitempty"`  // e.g. "uid 65534", "abi 7"
	Reason string     `json:"reason,omitempty"` // why it does not hold, with the errno
}

// Report is what holds of the whole lock, in a fixed order.
type Report struct {
	UID  int   `json:"uid"`
	GID  int   `json:"gid"`
	Rows []Row `json:"rows"`
}

// Missing returns the rows that do not hold in full.
func (r Report) Missing() []Row {
	var out []Row
	for _, row := range r.Rows {
		if row.Got != report.Enforced {
			out = append(out, row)
		}
	}
	return out
}

// Row returns the row of a part, or the zero row.
func (r Report) Row(part string) Row {
	for _, row := range r.Rows {
		if row.Part == part {
			return row
		}
	}
	return Row{}
}

// Lines says in sentences for the log what does not hold; none when all does.
func (r Report) Lines() []string {
	out := []string{}
	for _, row := range r.Missing() {
		out = append(out, fmt.Sprintf("front lock: %s is %s: %s", row.Part, row.Got, row.Reason))
	}
	return out
}

// add appends a row: enforced with a level when err is nil, else absent.
func (r *Report) add(part, level string, err error) {
	if err != nil {
		r.Rows = append(r.Rows, Row{Part: part, Got: report.Absent, Reason: err.Error()})
		return
	}
	r.Rows = append(r.Rows, Row{Part: part, Got: report.Enforced, Level: level})
}

// without reports whether a test leaves a part out.
func (o Options) without(part string) bool {
	for _, w := range o.Without {
		if w == part {
			return true
		}
	}
	return false
}

// errLeftOut is the reason of a part that a test leaves out.
var errLeftOut = fmt.Errorf("left out")

// join gives a list in words, "" for none.
func join(list []string) string { return strings.Join(list, ", ") }
