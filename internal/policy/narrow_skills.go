package policy

import (
	"slices"

	"skill-mcp/internal/report"
)

// narrowSkills joins the per-skill rows: a skill that either policy names gets
// what both would give it, worked out with each policy's own defaults.
func narrowSkills(p, q, out Policy, n *notes) []Skill {
	names := []string{}
	for _, s := range append(append([]Skill{}, p.Skills...), q.Skills...) {
		if s.Name != "" && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	rows := []Skill{}
	for _, name := range names {
		rows = append(rows, narrowSkill(name, p, q, out, n))
	}
	return rows
}

// narrowSkill joins the rows of one skill.
func narrowSkill(name string, p, q, out Policy, n *notes) Skill {
	a, b := p.Skill(name), q.Skill(name)
	where := "skill " + name + " "
	row := Skill{Name: name, Why: firstOf(b.Why, a.Why)}
	if net := narrower(p.NetworkFor(name), q.NetworkFor(name)); net != out.Network {
		row.Network = net
	}
	if b.Network != "" && b.Network != out.Network && b.Network != row.Network {
		n.add("%snetwork %s: the shipped policy allows %s", where, b.Network, p.NetworkFor(name))
	}
	row.Read = without(intersectTrees(p.ReadFor(name), q.ReadFor(name), where+"read", &notes{}), out.Read)
	for _, r := range b.Read {
		if !anyWithin(r.Path, p.ReadFor(name)) {
			n.add("%sread %s: outside what the shipped policy allows", where, r.Path)
		}
	}
	row.Hosts = narrowHosts(name, a, b, p, n)
	for _, s := range b.Secrets {
		if slices.Contains(a.Secrets, s) {
			row.Secrets = append(row.Secrets, s)
		} else {
			n.add("%ssecret %s: not handed over by the shipped policy", where, s)
		}
	}
	row.Limits = differing(p.LimitsFor(name).Min(q.LimitsFor(name)), out.Limits)
	return row
}

// narrowHosts keeps the added hosts of q that p allows. Where p's mode is wider
// than declared, p already reaches every host, so all of q's rows are inside.
func narrowHosts(name string, a, b Skill, p Policy, n *notes) []Path {
	if net := p.NetworkFor(name); net == NetOpen || net == NetProxy {
		return intersectHosts(b.Hosts, b.Hosts, "", &notes{})
	}
	return intersectHosts(a.Hosts, b.Hosts, "skill "+name+" host", n)
}

// anyWithin reports whether path lies in one of the trees.
func anyWithin(path string, trees []Path) bool {
	return slices.ContainsFunc(trees, func(t Path) bool { return within(path, t.Path) })
}

// without returns the rows of list that base does not have.
func without(list, base []Path) []Path {
	out := []Path{}
	for _, r := range list {
		if !slices.ContainsFunc(base, func(o Path) bool { return o.Path == r.Path }) {
			out = append(out, r)
		}
	}
	return out
}

// differing returns l with the fields that equal base set to zero, which means:
// as the policy.
func differing(l, base Limits) Limits {
	for i, f := range l.fields() {
		if *f == *base.fields()[i] {
			*f = 0
		}
	}
	return l
}

// firstOf returns the first string that is not empty.
func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// Allows returns "" when everything q allows is allowed by p, else the first
// thing that is not. It is the meaning of "narrower" that [Narrow] is tested
// against, and the monitor's second look at a hosted policy.
func Allows(p, q Policy) string {
	for _, l := range report.Layers() {
		if strictness(q.Want(l)) < strictness(p.Want(l)) {
			return "layer " + string(l)
		}
	}
	for _, b := range q.Interpreters {
		if why := allowsInterpreter(p, b); why != "" {
			return "interpreter " + b.Name + ": " + why
		}
	}
	names := []string{""}
	for _, s := range append(append([]Skill{}, p.Skills...), q.Skills...) {
		names = append(names, s.Name)
	}
	for _, name := range names {
		if why := allowsSkill(p, q, name); why != "" {
			return "skill " + name + ": " + why
		}
	}
	for _, w := range q.Write {
		if !anyWithin(w.Path, p.Write) {
			return "write " + w.Path
		}
	}
	for _, d := range p.DisabledSkills {
		if !q.Disabled(d) {
			return "disabled skill " + d
		}
	}
	return allowsEgress(p, q)
}

// allowsInterpreter compares one entry of the closed set.
func allowsInterpreter(p Policy, b Interpreter) string {
	a, ok := p.Interpreter(b.Name)
	switch {
	case !ok:
		return "not in the set"
	case a.Path != b.Path || !slices.Equal(a.Args, b.Args) || !slices.Equal(a.Env, b.Env):
		return "another program"
	case a.SHA256 != "" && a.SHA256 != b.SHA256:
		return "sha256"
	case CompareVersions(b.MinVersion, a.MinVersion) < 0 || lowerBound(a.MaxVersion, b.MaxVersion) != b.MaxVersion:
		return "version bounds"
	}
	for _, r := range b.Read {
		if !anyWithin(r.Path, a.Read) {
			return "read " + r.Path
		}
	}
	return ""
}

// allowsSkill compares what both give one skill; "" is any unnamed skill.
func allowsSkill(p, q Policy, name string) string {
	if breadth[q.NetworkFor(name)] > breadth[p.NetworkFor(name)] {
		return "network"
	}
	lp, lq := p.LimitsFor(name), q.LimitsFor(name)
	if lp.Min(lq) != lq {
		return "limits"
	}
	for _, r := range q.ReadFor(name) {
		if !anyWithin(r.Path, p.ReadFor(name)) {
			return "read " + r.Path
		}
	}
	for _, s := range q.Skill(name).Secrets {
		if !slices.Contains(p.Skill(name).Secrets, s) {
			return "secret " + s
		}
	}
	if net := p.NetworkFor(name); net == NetOpen || net == NetProxy {
		return ""
	}
	for _, h := range q.HostsFor(name) {
		if !slices.ContainsFunc(p.HostsFor(name), func(o string) bool { return HostWithin(h, o) }) {
			return "host " + h
		}
	}
	return ""
}

// allowsEgress compares what mode declared may do.
func allowsEgress(p, q Policy) string {
	if q.Egress.Resolver != "" && q.Egress.Resolver != p.Egress.Resolver {
		return "egress testResolver"
	}
	if len(p.Egress.Ports) > 0 {
		if len(q.Egress.Ports) == 0 {
			return "egress ports: any"
		}
		for _, port := range q.Egress.Ports {
			if port != 0 && !slices.Contains(p.Egress.Ports, port) {
				return "egress ports"
			}
		}
	}
	if q.Egress.connections() > p.Egress.connections() {
		return "egress connections"
	}
	if leastRate(p.Egress.BytesPerSecond, q.Egress.BytesPerSecond) != q.Egress.BytesPerSecond {
		return "egress bytesPerSecond"
	}
	for _, h := range q.Egress.Internal {
		if !slices.ContainsFunc(p.Egress.Internal, func(o Path) bool { return HostWithin(h.Path, o.Path) }) {
			return "egress internal " + h.Path
		}
	}
	return ""
}
