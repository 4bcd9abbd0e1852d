package doctor

import (
	"embed"

	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

// Probes are the scripts, free of dependencies; each prints one JSON line.
//
//go:embed probes
var Probes embed.FS

// Report is what the doctor found.
type Report struct {
	Policy       string             `json:"policy"`
	Network      string             `json:"network"`
	System       string             `json:"system"`       // e.g. "linux/amd64"
	User         string             `json:"user"`         // e.g. "uid 0"
	Interpreters []wire.Interpreter `json:"interpreters"` // the closed set, resolved
	Ran          bool               `json:"ran"`          // the probes ran through the server's entry point
	Proved       bool               `json:"proved"`       // every required layer is enforced and its attack was refused
	Layers       []Row              `json:"layers"`       // one per layer, in report order
	Notes        []string           `json:"notes"`        // what else an owner should know
}

// Row is one layer: what the helper says and what the probes saw.
type Row struct {
	report.Row
	Control string `json:"control,omitempty"` // what was allowed, as it must be
	Witness string `json:"witness,omitempty"` // what was tried and how it ended
	Proved  bool   `json:"proved"`            // the control worked and the attack was refused
}

// merge lays what the probes saw under what the helper says. A claim that an
// attack contradicts is not a claim any more.
func merge(said report.Row, f finding) Row {
	row := Row{Row: said, Control: f.control, Witness: f.witness}
	switch {
	case said.Got == report.NotAsked || said.Got == report.Absent:
		return row
	case f.state == stateNotTried:
		return row
	case f.state == stateRefused:
		row.Proved = true
		return row
	case said.Got == report.Partial:
		return row
	}
	row.Got = report.Absent
	row.Reason = "the helper reports it, and the probe was not stopped: " + f.witness
	return row
}

// proved reports whether every required layer holds and was seen to hold.
func proved(rows []Row) bool {
	for _, r := range rows {
		if r.Want == report.Require && (r.Got != report.Enforced || !r.Proved) {
			return false
		}
	}
	return len(rows) > 0
}
