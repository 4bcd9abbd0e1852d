package monitor

import (
	"time"

	"skill-mcp/internal/environ"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/tun"
)

// host is what the monitor needs of the system it runs on; package fence
// describes each method.
type host interface {
	Report(policy.Policy, policy.Network) report.Fence
	Sweep() []string
	Spare(pid int)
	Start(spawn.Spec) (run, error)
	Close() error
}

// run is one started child, as package fence describes it.
type run interface {
	Pid() int
	Fence() report.Fence
	EnvNames() []string
	Terminate()
	Done() <-chan struct{}
	Over() report.Verdict // which limit it is past that the kernel does not hold, "" = none
	Leader() spawn.Exit
	Kill(time.Duration) []report.Survivor
	Usage() spawn.Usage
	Close() []string
	Next()               // after Close and the result: prepare for another run like it
	Device() *tun.Device // the way out in mode declared, nil = none
}

// report returns what holds for runs with a network mode on this host, probed
// once per mode.
func (m *monitor) report(n policy.Network) report.Fence {
	f, ok := m.fences[n]
	if !ok {
		f = m.own(m.host.Report(m.boot.Policy, n))
		m.fences[n] = f
	}
	return f
}

// own fills in the rows of the layers that are the monitor's work: the others
// are the fence's.
func (m *monitor) own(f report.Fence) report.Fence {
	rows := make([]report.Row, 0, len(f.Layers))
	for _, r := range f.Layers {
		switch {
		case r.Layer == report.Environ:
			r = environRow(r.Want, m.scrub.State, m.scrub.Reason)
		case r.Layer == report.Deadline || r.Layer == report.Capture:
			r = report.Row{Layer: r.Layer, Want: r.Want, Got: report.Enforced}
		}
		if r.Want == report.Off {
			r = report.Row{Layer: r.Layer, Want: r.Want, Got: report.NotAsked}
		}
		rows = append(rows, r)
	}
	f.Layers = rows
	return f
}

// environRow is the report of the wiped environment, which was read back.
func environRow(want report.Want, state, reason string) report.Row {
	r := report.Row{Layer: report.Environ, Want: want, Got: report.Enforced}
	if state == environ.Scrubbed {
		return r
	}
	r.Got, r.Reason = report.Absent, "the exec-time environment could not be wiped: "+reason
	if state == environ.Unsupported {
		r.Reason = "this system has no exec-time environment to wipe"
	}
	return r
}
