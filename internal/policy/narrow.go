package policy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"skill-mcp/internal/report"
)

// breadth orders the network modes. declared is below proxy because a server
// that has a proxy dials declared hosts through it (Resolve turns proxy into
// none where there is no proxy, before anything is compared).
var breadth = map[Network]int{NetNone: 0, NetDeclared: 1, NetProxy: 2, NetOpen: 3}

// Narrow returns the policy that allows what both p and q allow. It is how a
// hosted server takes an owner's file: p is what is shipped, q what the owner
// wrote, and nothing in q can add to p.
//
// The notes say, one sentence each, what q asked for and did not get.
// Precondition: both are resolved for the same environment (see Resolve).
func Narrow(p, q Policy) (Policy, []string) {
	var n notes
	out := Policy{
		Name:           joinNames(p.Name, q.Name),
		Network:        narrower(p.NetworkFor(""), q.NetworkFor("")),
		Layers:         narrowLayers(p, q, &n),
		Interpreters:   narrowInterpreters(p, q, &n),
		Limits:         p.LimitsFor("").Min(q.LimitsFor("")),
		Read:           intersectTrees(p.Read, q.Read, "read", &n),
		Write:          intersectTrees(p.Write, q.Write, "write", &n),
		Egress:         narrowEgress(p, q, &n),
		DisabledSkills: union(p.DisabledSkills, q.DisabledSkills),
	}
	if q.Network != out.Network {
		n.add("network %s: the shipped policy allows %s", q.Network, out.Network)
	}
	out.Skills = narrowSkills(p, q, out, &n)
	return out, n
}

// notes collects what was asked for and not given.
type notes []string

// add appends one sentence.
func (n *notes) add(format string, a ...any) { *n = append(*n, fmt.Sprintf(format, a...)) }

// joinNames names a narrowed policy after both.
func joinNames(p, q string) string {
	if q == p || q == "" {
		return p
	}
	return p + "+" + q
}

// narrower returns the narrower of two modes.
func narrower(a, b Network) Network {
	if breadth[a] <= breadth[b] {
		return a
	}
	return b
}

// strictness orders the wants; an unknown want counts as require.
func strictness(w report.Want) int {
	switch w {
	case report.Off:
		return 0
	case report.Prefer:
		return 1
	}
	return 2
}

// narrowLayers takes the stricter want of each layer.
func narrowLayers(p, q Policy, n *notes) []Layer {
	out := make([]Layer, 0, len(report.Layers()))
	for _, l := range report.Layers() {
		from, want := p, p.Want(l)
		if strictness(q.Want(l)) > strictness(want) {
			from, want = q, q.Want(l)
		} else if strictness(q.Want(l)) < strictness(want) {
			n.add("layer %s: %s is weaker than the shipped policy's %s", l, q.Want(l), want)
		}
		out = append(out, Layer{Layer: l, Want: want, Why: from.layerWhy(l)})
	}
	return out
}

// layerWhy returns the reason beside a layer's want.
func (p Policy) layerWhy(l report.Layer) string {
	for _, r := range p.Layers {
		if r.Layer == l {
			return r.Why
		}
	}
	return "a layer that a policy does not name is required"
}

// narrowInterpreters keeps the interpreters both name in the same way. Other
// paths, arguments or variables make another program of it, which cannot be
// judged narrower, so such an entry is left out.
func narrowInterpreters(p, q Policy, n *notes) []Interpreter {
	out := []Interpreter{}
	for i, b := range q.Interpreters {
		a, ok := p.Interpreter(b.Name)
		switch {
		case slices.Contains(q.Names()[:i], b.Name): // the first entry of a name counts
		case !ok:
			n.add("interpreter %s: not in the shipped policy", b.Name)
		case a.Path != b.Path || !slices.Equal(a.Args, b.Args) || !slices.Equal(a.Env, b.Env):
			n.add("interpreter %s: path, args and env must be those of the shipped policy", b.Name)
		case a.SHA256 != "" && b.SHA256 != "" && a.SHA256 != b.SHA256:
			n.add("interpreter %s: its sha256 is not the one the shipped policy pins", b.Name)
		default:
			out = append(out, narrowInterpreter(a, b, n))
		}
	}
	return out
}

// narrowInterpreter joins the bounds of two entries of the same program.
func narrowInterpreter(a, b Interpreter, n *notes) Interpreter {
	out := a
	out.Read = intersectTrees(a.Read, b.Read, "interpreter "+a.Name+" read", n)
	if out.SHA256 == "" {
		out.SHA256 = b.SHA256
	}
	if CompareVersions(b.MinVersion, a.MinVersion) > 0 {
		out.MinVersion = b.MinVersion
	}
	out.MaxVersion = lowerBound(a.MaxVersion, b.MaxVersion)
	return out
}

// lowerBound returns the stricter of two upper bounds. Of 22 and 22.0 the
// longer admits less (22 admits 22.4), so a prefix yields to what it contains.
func lowerBound(a, b string) string {
	if a == "" {
		return b
	}
	if b == "" {
		return a
	}
	if c := CompareVersions(truncate(a, b), truncate(b, a)); c < 0 {
		return a
	} else if c > 0 {
		return b
	}
	if strings.Count(b, ".") > strings.Count(a, ".") {
		return b
	}
	return a
}

// narrowEgress intersects what mode declared may do. Two lists of ports with
// nothing in common leave port 0, which no connection has: an empty list would
// mean any.
func narrowEgress(p, q Policy, n *notes) Egress {
	out := Egress{
		Ports:    intersectPorts(p.Egress.Ports, q.Egress.Ports),
		Internal: intersectHosts(p.Egress.Internal, q.Egress.Internal, "egress internal", n),
		Resolver: p.Egress.Resolver,

		Connections:    min(p.Egress.connections(), q.Egress.connections()),
		BytesPerSecond: leastRate(p.Egress.BytesPerSecond, q.Egress.BytesPerSecond),
	}
	if q.Egress.Resolver != p.Egress.Resolver {
		n.add("egress testResolver: only the shipped policy's counts")
	}
	return out
}

// connections is the number that holds.
func (e Egress) connections() int64 { return cmp.Or(e.Connections, UsualConnections) }

// leastRate is the smaller of two bounds of which 0 is none.
func leastRate(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// intersectPorts returns the ports both allow; empty means any.
func intersectPorts(a, b []int) []int {
	if len(a) == 0 {
		return append([]int{}, b...)
	}
	if len(b) == 0 {
		return append([]int{}, a...)
	}
	out := []int{}
	for _, port := range a {
		if slices.Contains(b, port) && !slices.Contains(out, port) {
			out = append(out, port)
		}
	}
	if len(out) == 0 {
		return []int{0}
	}
	return out
}

// intersectTrees returns the trees that lie in both lists: of two where one
// holds the other, the inner one. Paths are compared as text, element by
// element; one that is not absolute and clean matches nothing.
func intersectTrees(a, b []Path, where string, n *notes) []Path {
	return intersect(a, b, where, n, within)
}

// intersectHosts returns the host patterns that lie in both lists.
func intersectHosts(a, b []Path, where string, n *notes) []Path {
	return intersect(a, b, where, n, HostWithin)
}

// intersect keeps the inner of each pair where one holds the other.
func intersect(a, b []Path, where string, n *notes, in func(inner, outer string) bool) []Path {
	out := []Path{}
	for _, y := range b {
		found := false
		for _, x := range a {
			switch {
			case in(y.Path, x.Path):
				out, found = appendPath(out, y), true
			case in(x.Path, y.Path):
				out, found = appendPath(out, x), true
			}
		}
		if !found {
			n.add("%s %s: outside what the shipped policy allows", where, y.Path)
		}
	}
	return out
}

// appendPath adds a row unless the list has its path.
func appendPath(list []Path, r Path) []Path {
	if slices.ContainsFunc(list, func(o Path) bool { return o.Path == r.Path }) {
		return list
	}
	return append(list, r)
}

// within reports whether inner is outer or lies below it.
func within(inner, outer string) bool {
	if !cleanAbs(inner) || !cleanAbs(outer) {
		return false
	}
	return inner == outer || outer == "/" || strings.HasPrefix(inner, outer+"/")
}

// cleanAbs reports whether p is absolute and in its shortest form.
func cleanAbs(p string) bool { return strings.HasPrefix(p, "/") && path.Clean(p) == p }

// HostWithin reports whether every name that pattern inner matches is matched
// by outer too. "*.example.com" matches names below example.com, not itself.
func HostWithin(inner, outer string) bool {
	if inner == "" || outer == "" {
		return false
	}
	if inner == outer {
		return true
	}
	rest, wild := strings.CutPrefix(outer, "*.")
	return wild && rest != "" && strings.HasSuffix(strings.TrimPrefix(inner, "*"), "."+rest)
}

// union returns the names of both lists, sorted, each once, never nil.
func union(a, b []string) []string {
	out := append(append([]string{}, a...), b...)
	slices.Sort(out)
	return slices.Compact(out)
}
