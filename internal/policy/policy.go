// Package policy is what the owner allows a run, as values: which layers are
// wanted, which interpreters exist, what may be read, written and reached, and
// how much of the machine may be used.
//
// It is pure and reads no YAML: the file form is another package, on the
// unprivileged side. Both sides of the wall import this one and agree by it.
package policy

import "skill-mcp/internal/report"

// Network is the mode a run's network has (fence specification, section 9).
type Network string

// The modes, narrowest first.
const (
	NetNone     Network = "none"     // no network but a loopback of the run's own
	NetDeclared Network = "declared" // the hosts the skill declares, by name
	NetProxy    Network = "proxy"    // the TCP port of the proxy in the environment
	NetOpen     Network = "open"     // the host's network
)

// Policy is the effective policy of a server. The zero value allows nothing
// and names no interpreter.
type Policy struct {
	Name    string  `json:"name"`    // hosted, standalone, portable, strict, or an owner's name
	Network Network `json:"network"` // for runs of skills without an own row

	Layers       []Layer       `json:"layers"`       // one per report layer, in report order
	Interpreters []Interpreter `json:"interpreters"` // the closed set, by name
	Limits       Limits        `json:"limits"`       // what one run may use at most

	Read   []Path `json:"read"`   // beyond the bundle, the interpreter and its libraries
	Write  []Path `json:"write"`  // beyond the run's tmp and MCP_DATA_DIR
	Egress Egress `json:"egress"` // what mode declared may and may not do

	Skills         []Skill  `json:"skills"`         // per-skill additions, by skill name
	DisabledSkills []string `json:"disabledSkills"` // served as disabled, never run
}

// Layer is what the policy asks of one layer, and why.
type Layer struct {
	Layer report.Layer `json:"layer"` // its name; in a file the key of the row
	Want  report.Want  `json:"want"`  // require, prefer or off
	Why   string       `json:"why"`   // for the reader
}

// Path is one granted file or directory tree, absolute, and why.
type Path struct {
	Path string `json:"path"` // absolute and in its shortest form
	Why  string `json:"why"`  // for the reader
}

// Interpreter is one entry of the closed set. A declaration names it; nothing
// else does, no extension and no shebang.
type Interpreter struct {
	Name       string   `json:"name"`       // as a declaration writes it, e.g. "node"
	Path       string   `json:"path"`       // absolute; "" means: looked up once on the server's PATH
	Args       []string `json:"args"`       // before the script
	Env        []string `json:"env"`        // NAME=value pairs it needs
	Read       []Path   `json:"read"`       // beyond what its ELF closure and prefix give
	MinVersion string   `json:"minVersion"` // dotted numbers, "" = none
	MaxVersion string   `json:"maxVersion"` // inclusive, "" = none
	SHA256     string   `json:"sha256"`     // lower-case hex pin of the binary, "" = none
	Why        string   `json:"why"`        // for the reader
}

// Egress narrows mode declared.
type Egress struct {
	Ports    []int  `json:"ports"`    // allowed TCP ports; empty = any
	Internal []Path `json:"internal"` // hosts or addresses that may resolve to internal ranges
	// Connections is how many one run may have open at once; 0 = UsualConnections.
	Connections int64 `json:"connections"`
	// BytesPerSecond bounds what moves in both directions together; 0 = no bound.
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// Resolver is host:port of a DNS server to ask instead of the host's; for
	// tests of the fence itself, refused in hosted mode.
	Resolver string `json:"testResolver"`
}

// UsualConnections is how many connections a run may have open at once where
// the policy does not say: a crawler of ten hosts has 60.
const UsualConnections = 256

// MostConnections is the largest number a policy may give: each takes two
// descriptors and 384 KiB in the egress process.
const MostConnections = 4096

// Skill adds grants for one skill.
type Skill struct {
	Name    string   `json:"name"`    // the directory of the skill
	Network Network  `json:"network"` // "" = as the policy
	Read    []Path   `json:"read"`    // added to what every run may read
	Hosts   []Path   `json:"hosts"`   // added to its egress list; Path holds the host name
	Secrets []string `json:"secrets"` // variable names to hand over when declared
	Limits  Limits   `json:"limits"`  // zero fields = as the policy
	Why     string   `json:"why"`     // for the reader
}

// Want returns what the policy asks of layer l; a layer it does not name is
// required, so that a forgotten row never weakens a run.
func (p Policy) Want(l report.Layer) report.Want {
	for _, r := range p.Layers {
		if r.Layer == l {
			return r.Want
		}
	}
	return report.Require
}

// Interpreter returns the entry called name.
func (p Policy) Interpreter(name string) (Interpreter, bool) {
	for _, i := range p.Interpreters {
		if i.Name == name {
			return i, true
		}
	}
	return Interpreter{}, false
}

// Names returns the names of the closed set, in policy order.
func (p Policy) Names() []string {
	out := make([]string, 0, len(p.Interpreters))
	for _, i := range p.Interpreters {
		out = append(out, i.Name)
	}
	return out
}

// Skill returns the row of one skill, or a zero row. The empty name stands for
// any skill without a row.
func (p Policy) Skill(name string) Skill {
	if name == "" {
		return Skill{}
	}
	for _, s := range p.Skills {
		if s.Name == name {
			return s
		}
	}
	return Skill{Name: name}
}
