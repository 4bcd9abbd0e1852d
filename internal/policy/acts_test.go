package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skill-mcp/internal/report"
)

// TestNarrowKeepsConcreteActs checks the promise of hosted mode without Allows
// and without what Narrow decides by: for single acts, judged by rules written
// down once more, the narrowed policy says yes only where both do.
func TestNarrowKeepsConcreteActs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPolicy(t, "p"), drawPolicy(t, "q")
		got, _ := Narrow(p, q)
		skill := rapid.SampledFrom(someNames).Draw(t, "skill")
		for _, a := range acts(t, skill) {
			if a.may(got) && !a.may(p) {
				t.Fatalf("%s: allowed, and the first policy does not", a.what)
			}
			if a.may(got) && !a.may(q) {
				t.Fatalf("%s: allowed, and the second policy does not", a.what)
			}
		}
		if r := got.Egress.Resolver; r != "" && r != p.Egress.Resolver {
			t.Fatalf("test resolver %s", r)
		}
	})
}

// act is one thing that a run does, or is spared.
type act struct {
	what string
	may  func(Policy) bool
}

// acts draws acts of one skill's runs.
func acts(t *rapid.T, skill string) []act {
	file := rapid.SampledFrom([]string{"/etc/passwd", "/etc/ssl/x", "/srv/a/f", "/srv/b", "/etcetera/x", "/etcetera"}).Draw(t, "file")
	host := rapid.SampledFrom([]string{"example.com", "x.example.com", "a.example.com", "b.a.example.com", "notexample.com", "x.com"}).Draw(t, "host")
	number := rapid.SampledFrom([]int64{1, 2, 255, 257, 1001, 1 << 21, 1 << 31}).Draw(t, "number")
	port := rapid.SampledFrom([]int{22, 80, 443, 8080}).Draw(t, "port")
	return append(runActs(t, skill),
		act{"read " + file, func(p Policy) bool { return lies(file, p.ReadFor(skill)) }},
		act{"write " + file, func(p Policy) bool { return lies(file, p.Write) }},
		act{"connect to a port", func(p Policy) bool { return len(p.Egress.Ports) == 0 || slices.Contains(p.Egress.Ports, port) }},
		act{"hold connections", func(p Policy) bool {
			return number <= p.Egress.Connections || p.Egress.Connections == 0 && number <= UsualConnections
		}},
		act{"move bytes a second", func(p Policy) bool { return number <= p.Egress.BytesPerSecond || p.Egress.BytesPerSecond == 0 }},
		act{"reach internal " + host, func(p Policy) bool { return matches(host, p.Egress.Internal) }},
		act{"reach " + host, func(p Policy) bool {
			switch p.NetworkFor(skill) {
			case NetOpen, NetProxy:
				return true
			case NetDeclared:
				return matches(host, p.Skill(skill).Hosts)
			}
			return false
		}},
	)
}

// runActs draws acts that do not reach outside.
func runActs(t *rapid.T, skill string) []act {
	version := rapid.SampledFrom([]string{"", "19", "20.1.1", "v22.4.1", "23"}).Draw(t, "version")
	name := rapid.SampledFrom(someNames).Draw(t, "interpreter")
	argument, sum := rapid.SampledFrom(someWords).Draw(t, "argument"), rapid.SampledFrom([]string{"aa", "bb", "cc"}).Draw(t, "sum")
	secret := rapid.SampledFrom(someWords).Draw(t, "secret")
	layer := rapid.SampledFrom(report.Layers()).Draw(t, "layer")
	limit := rapid.SampledFrom(LimitNames()).Draw(t, "limit")
	value := rapid.SampledFrom([]int64{1, 2, 65, 513 * mib, 1 << 41}).Draw(t, "value")
	entry := func(p Policy) (Interpreter, bool) { return p.Interpreter(name) }
	return []act{
		{"run with " + name + " " + version, func(p Policy) bool { i, ok := entry(p); return ok && i.Accepts(version) == "" }},
		{"run a program with a sum", func(p Policy) bool { i, ok := entry(p); return ok && (i.SHA256 == "" || i.SHA256 == sum) }},
		{"run with an argument", func(p Policy) bool { i, ok := entry(p); return ok && slices.Contains(i.Args, argument) }},
		{"run with a variable", func(p Policy) bool { i, ok := entry(p); return ok && slices.Contains(i.Env, argument) }},
		{"run without a path of its own", func(p Policy) bool { i, ok := entry(p); return ok && i.Path == "" }},
		{"run with a path of its own", func(p Policy) bool { i, ok := entry(p); return ok && i.Path != "" }},
		{"be served", func(p Policy) bool { return !slices.Contains(p.DisabledSkills, skill) }},
		{"use more " + limit, func(p Policy) bool { v, _ := p.LimitsFor(skill).Get(limit); return value <= v }},
		{"go without " + string(layer), func(p Policy) bool { return p.Want(layer) == report.Off || p.Want(layer) == report.Prefer }},
		{"never have " + string(layer), func(p Policy) bool { return p.Want(layer) == report.Off }},
		{"get a secret", func(p Policy) bool {
			return slices.ContainsFunc(p.Skills, func(s Skill) bool { return s.Name == skill && slices.Contains(s.Secrets, secret) })
		}},
	}
}

// lies reports whether a file is one of the trees or below one, by its parts.
func lies(file string, trees []Path) bool {
	return slices.ContainsFunc(trees, func(t Path) bool {
		tree := strings.Split(t.Path, "/")
		if t.Path == "/" {
			tree = []string{""}
		}
		parts := strings.Split(file, "/")
		return t.Path != "" && t.Path[0] == '/' && !slices.Contains(tree, "..") && len(tree) <= len(parts) && slices.Equal(tree, parts[:len(tree)])
	})
}

// matches reports whether a pattern covers a host, by its labels.
func matches(host string, patterns []Path) bool {
	return slices.ContainsFunc(patterns, func(p Path) bool {
		want, have := strings.Split(p.Path, "."), strings.Split(host, ".")
		if want[0] != "*" {
			return p.Path == host
		}
		tail := want[1:]
		return len(tail) > 0 && tail[0] != "" && len(have) > len(tail) && slices.Equal(have[len(have)-len(tail):], tail)
	})
}

// TestTheStricterBoundOnVersionsIsKept: what the joined bound admits, both do.
// Drawn policies seldom name one interpreter in the same way.
func TestTheStricterBoundOnVersionsIsKept(t *testing.T) {
	bounds := []string{"", "20", "20.1", "20.0", "22", "22.4", "22.4.1", "v22"}
	versions := []string{"19", "20", "20.0.3", "20.1", "20.1.9", "20.2", "22", "22.4.0", "22.4.1", "22.4.2", "22.5", "23"}
	for _, a := range bounds {
		for _, b := range bounds {
			p, q := Interpreter{MaxVersion: a}, Interpreter{MaxVersion: b}
			both := Interpreter{MaxVersion: lowerBound(a, b)}
			for _, v := range versions {
				want := p.Accepts(v) == "" && q.Accepts(v) == ""
				if got := both.Accepts(v) == ""; got && !want {
					t.Errorf("%q and %q give %q, which admits %s", a, b, both.MaxVersion, v)
				}
			}
		}
	}
}
