package policyfile

import (
	"slices"
	"strconv"
	"strings"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/yamlcore"
)

// maxFile is the longest policy file. The shipped ones have 8 KiB; a row for
// each of the 4096 skills that a server may hold fits.
const maxFile = 1 << 20

// parsed is a file as it was read: rows over the policy it builds on.
type parsed struct {
	extends string // "" = not said
	policy  policy.Policy
	lines   map[string]int
}

// parse reads a file over the policy that base gives for its key extends. A
// nil error means that every row of it is valid.
func parse(file string, text []byte, base func(extends string) policy.Policy) (parsed, *Problems) {
	root, err := yamlcore.Parse(text, yamlcore.Options{MaxBytes: maxFile})
	if err != nil {
		return parsed{}, &Problems{File: file, List: []Problem{syntax(err)}}
	}
	r := &reader{lines: map[string]int{}}
	out := r.file(root, base)
	if len(r.list) > 0 {
		return parsed{}, (&Problems{File: file, List: r.list}).sorted()
	}
	return out, nil
}

// syntax takes over the place and the hint of a mistake in the YAML itself.
func syntax(err error) Problem {
	y, ok := err.(*yamlcore.Error)
	if !ok {
		return Problem{Text: err.Error()}
	}
	p := Problem{Line: y.Line, Column: y.Column, Text: y.Met}
	if y.Hint != "" {
		p.Text += "; " + y.Hint
	}
	return p
}

// file reads the top of a file and lays its rows over the base.
func (r *reader) file(root *yamlcore.Node, base func(string) policy.Policy) parsed {
	f := r.fields(root, "the policy", Keys()...)
	out := parsed{extends: f.choice("extends", append(shippedNames(), Nothing)...), lines: r.lines}
	p := base(out.extends)
	if n := f.by["name"]; n != nil {
		p.Name = r.name(n)
	}
	if n := f.by["network"]; n != nil {
		p.Network = r.network(n)
	}
	p.Layers = r.layers(f.by["layers"], p.Layers)
	p.Interpreters = r.interpreters(f.by["interpreters"], p.Interpreters)
	if n := f.by["limits"]; n != nil {
		p.Limits = r.limits(n, "limits", "limits.", p.LimitsFor("")).Merge(p.Limits)
	}
	p.Read = addPaths(p.Read, f.rows("read", "path", "read.", badTree))
	p.Write = addPaths(p.Write, f.rows("write", "path", "write.", badTree))
	if n := f.by["egress"]; n != nil {
		p.Egress = r.egress(n, p.Egress)
	}
	p.Skills = r.skills(f.by["skills"], p)
	disabled := f.strings("disabledSkills", skillName, "a skill's name")
	for i, name := range disabled {
		r.at(f.by["disabledSkills"].Items[i], "disabledSkills."+name)
	}
	p = p.WithDisabled(disabled)
	out.policy = p
	return out
}

// Keys returns the keys of a policy file, in the order of the reference.
func Keys() []string {
	return []string{"name", "extends", "network", "layers", "interpreters", "limits", "read", "write", "egress", "skills", "disabledSkills"}
}

// Nothing is the value of extends for a file that states everything itself.
const Nothing = "nothing"

// name reads the policy's own name.
func (r *reader) name(n *yamlcore.Node) string {
	w := word(n)
	if !policyName(w) {
		r.bad(n, "name %s is not 1 to 64 characters of a-z 0-9 . _ -, beginning with a letter or digit", quote(n))
	}
	return w
}

// modes are the network modes, narrowest first.
func modes() []string {
	return []string{string(policy.NetNone), string(policy.NetDeclared), string(policy.NetProxy), string(policy.NetOpen)}
}

// network reads {mode, why}; none grants nothing and needs no why.
func (r *reader) network(n *yamlcore.Node) policy.Network {
	f := r.fields(n, "network", "mode", "why")
	mode := f.choice("mode", modes()...)
	if f.by["mode"] == nil {
		f.need("mode", "one of "+strings.Join(modes(), ", "))
	}
	if mode != string(policy.NetNone) {
		f.why()
	}
	r.at(n, "network")
	return policy.Network(mode)
}

// layers reads a map of {want, why} by layer and replaces those rows of base.
func (r *reader) layers(n *yamlcore.Node, base []policy.Layer) []policy.Layer {
	out := slices.Clone(base)
	known := func(s string) bool { return report.Layer(s).Known() }
	for _, e := range r.entries(n, "layers", known) {
		l := report.Layer(word(e.Key))
		f := r.fields(e.Value, "layer "+string(l), "want", "why")
		want := report.Want(f.choice("want", string(report.Require), string(report.Prefer), string(report.Off)))
		if f.by["want"] == nil {
			f.need("want", "require, prefer or off")
		}
		r.at(e.Key, "layers."+string(l))
		out = setLayer(out, policy.Layer{Layer: l, Want: want, Why: f.why()})
	}
	return inOrder(out)
}

// setLayer replaces the row of a layer or adds it.
func setLayer(list []policy.Layer, row policy.Layer) []policy.Layer {
	for i := range list {
		if list[i].Layer == row.Layer {
			list[i] = row
			return list
		}
	}
	return append(list, row)
}

// inOrder gives one row per layer in report order; one that nobody names is
// required.
func inOrder(list []policy.Layer) []policy.Layer {
	out := []policy.Layer{}
	p := policy.Policy{Layers: list}
	for _, l := range report.Layers() {
		row := policy.Layer{Layer: l, Want: p.Want(l), Why: "a layer that a policy does not name is required"}
		for _, o := range list {
			if o.Layer == l {
				row = o
			}
		}
		out = append(out, row)
	}
	return out
}

// addPaths adds rows to a list; a path that is there keeps its place.
func addPaths(list, more []policy.Path) []policy.Path {
	out := append([]policy.Path{}, list...)
	for _, m := range more {
		i := slices.IndexFunc(out, func(o policy.Path) bool { return o.Path == m.Path })
		if i < 0 {
			out = append(out, m)
		} else {
			out[i] = m
		}
	}
	return out
}

// limits reads a map of limits. Numbers stay within the floors and ceilings,
// and one above base is a grant, for which the section says why.
func (r *reader) limits(n *yamlcore.Node, where, prefix string, base policy.Limits) policy.Limits {
	f := r.fields(n, where, append(policy.LimitNames(), "why")...)
	var out policy.Limits
	raised := ""
	for _, name := range policy.LimitNames() {
		v := f.by[name]
		if v == nil {
			continue
		}
		value, ok := r.limit(v, name, where)
		if !ok {
			continue
		}
		out = out.With(name, value)
		r.at(v, prefix+name)
		if was, _ := base.Get(name); value > was {
			raised = name
		}
	}
	if raised != "" && f.by["why"] == nil {
		f.need("why", raised+" is raised, which is a grant")
	}
	f.text("why", maxWhy)
	return out
}

// limit reads one number and holds it to its floor and ceiling.
func (r *reader) limit(n *yamlcore.Node, name, where string) (int64, bool) {
	value, ok := size(word(n))
	if !ok || (!isBytes(name) && strings.HasSuffix(word(n), "B")) {
		unit := "a whole number"
		if isBytes(name) {
			unit += " of bytes, or one with KiB, MiB, GiB or TiB"
		}
		r.bad(n, "%s of %s is %s, not %s", name, where, quote(n), unit)
		return 0, false
	}
	floor, _ := policy.Floors().Get(name)
	ceiling, _ := policy.Ceilings().Get(name)
	if value < floor || value > ceiling {
		r.bad(n, "%s of %s is %d: the least that works is %d, the most that is taken %d", name, where, value, floor, ceiling)
		return 0, false
	}
	return value, true
}

// egress reads what mode declared may do.
func (r *reader) egress(n *yamlcore.Node, base policy.Egress) policy.Egress {
	f := r.fields(n, "egress", "ports", "internal", "connections", "bytesPerSecond", "testResolver")
	out := base
	if list := f.by["ports"]; list != nil {
		out.Ports = r.ports(list)
	}
	out.Internal = addPaths(base.Internal, f.rows("internal", "host", "egress.internal.", badInternal))
	out.Connections = r.egressNumber(f.by["connections"], "connections", policy.MostConnections, base.Connections)
	out.BytesPerSecond = r.egressNumber(f.by["bytesPerSecond"], "bytesPerSecond", 1<<40, base.BytesPerSecond)
	if v := f.by["testResolver"]; v != nil {
		out.Resolver = word(v)
		if !hostPort(out.Resolver) {
			r.bad(v, "testResolver of egress is %s, not ADDRESS:PORT", quote(v))
		}
		r.at(v, "egress.testResolver")
	}
	return out
}

// egressNumber reads a number from 1 to most; absent is the base's.
func (r *reader) egressNumber(n *yamlcore.Node, name string, most, base int64) int64 {
	if n == nil {
		return base
	}
	v, ok := size(word(n))
	if !ok || v < 1 || v > most {
		r.bad(n, "%s of egress is %s, not a number from 1 to %d", name, quote(n), most)
		return base
	}
	r.at(n, "egress."+name)
	return v
}

// ports reads a list of TCP ports.
func (r *reader) ports(list *yamlcore.Node) []int {
	out := []int{}
	for _, n := range r.items(list, "ports of egress") {
		v, err := strconv.Atoi(word(n))
		switch {
		case err != nil || v < 1 || v > 65535:
			r.bad(n, "%s in ports of egress is not a port from 1 to 65535", quote(n))
		case slices.Contains(out, v):
			r.bad(n, "port %d is given twice", v)
		default:
			out = append(out, v)
			r.at(n, "egress.ports."+strconv.Itoa(v))
		}
	}
	return out
}
