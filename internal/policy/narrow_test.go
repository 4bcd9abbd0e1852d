package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"skill-mcp/internal/report"
)

// The alphabets are small so that two drawn policies often meet.
var (
	somePaths = []string{"/", "/etc", "/etc/ssl", "/etc/ssl/certs", "/etcetera", "/srv", "/srv/a", "/srv/a/../b", "srv", ""}
	someHosts = []string{"example.com", "*.example.com", "a.example.com", "*.a.example.com", "notexample.com", "*.com", "*.", ""}
	someNames = []string{"node", "bash", "python3", "demo", "other"}
	someWords = []string{"", "1.2", "20", "20.1", "v22.4.1", "22", "x"}
)

// drawPaths draws a list of rows over an alphabet.
func drawPaths(t *rapid.T, label string, alphabet []string) []Path {
	out := []Path{}
	for _, p := range rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 3).Draw(t, label) {
		out = append(out, Path{Path: p, Why: "why " + p})
	}
	return out
}

// drawNetwork draws a mode, with the odd unknown one.
func drawNetwork(t *rapid.T, label string) Network {
	return rapid.SampledFrom([]Network{NetNone, NetDeclared, NetProxy, NetOpen, "", "wild"}).Draw(t, label)
}

// drawLimits sets every field to zero or a small number.
func drawLimits(t *rapid.T, label string) Limits {
	var l Limits
	for i, f := range l.fields() {
		*f = rapid.SampledFrom([]int64{0, 0, 1, 64, 512 * mib, 1 << 40}).Draw(t, fmt.Sprintf("%s.%d", label, i))
	}
	return l
}

// drawPolicy draws every field of a policy.
func drawPolicy(t *rapid.T, label string) Policy {
	words := func(name string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(someWords), 0, 2).Draw(t, label+name)
	}
	p := Policy{
		Name: label, Network: drawNetwork(t, label+".network"), Limits: drawLimits(t, label+".limits"),
		Read: drawPaths(t, label+".read", somePaths), Write: drawPaths(t, label+".write", somePaths),
		Egress: Egress{
			Ports:    rapid.SliceOfN(rapid.SampledFrom([]int{80, 443, 8080}), 0, 2).Draw(t, label+".ports"),
			Internal: drawPaths(t, label+".internal", someHosts),

			Connections:    rapid.SampledFrom([]int64{0, 0, 1, 256, 1000}).Draw(t, label+".connections"),
			BytesPerSecond: rapid.SampledFrom([]int64{0, 0, 1 << 20, 1 << 30}).Draw(t, label+".rate"),

			Resolver: rapid.SampledFrom([]string{"", "", "127.0.0.1:53"}).Draw(t, label+".resolver"),
		},
		DisabledSkills: rapid.SliceOfN(rapid.SampledFrom(someNames), 0, 2).Draw(t, label+".disabled"),
	}
	for _, l := range report.Layers() {
		w := rapid.SampledFrom([]report.Want{report.Require, report.Prefer, report.Off, "", "none"}).Draw(t, label+string(l))
		if w != "none" { // a layer that is not named at all
			p.Layers = append(p.Layers, Layer{Layer: l, Want: w, Why: "why"})
		}
	}
	for _, n := range rapid.SliceOfN(rapid.SampledFrom(someNames), 0, 3).Draw(t, label+".interpreters") {
		p.Interpreters = append(p.Interpreters, Interpreter{
			Name: n, Path: rapid.SampledFrom([]string{"", "/usr/bin/node"}).Draw(t, label+".path"),
			Args: words(".args"), Env: words(".env"), Read: drawPaths(t, label+".iread", somePaths),
			MinVersion: rapid.SampledFrom(someWords).Draw(t, label+".min"), MaxVersion: rapid.SampledFrom(someWords).Draw(t, label+".max"),
			SHA256: rapid.SampledFrom([]string{"", "aa", "bb"}).Draw(t, label+".sha"), Why: "why",
		})
	}
	for _, n := range rapid.SliceOfN(rapid.SampledFrom(append([]string{""}, someNames...)), 0, 3).Draw(t, label+".skills") {
		p.Skills = append(p.Skills, Skill{
			Name: n, Network: drawNetwork(t, label+".snet"), Read: drawPaths(t, label+".sread", somePaths),
			Hosts: drawPaths(t, label+".shosts", someHosts), Secrets: words(".secrets"),
			Limits: drawLimits(t, label+".slimits"), Why: "why",
		})
	}
	return p
}

// TestNarrowAllowsNothingThatEitherDoesNot is the promise of hosted mode.
func TestNarrowAllowsNothingThatEitherDoesNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPolicy(t, "p"), drawPolicy(t, "q")
		got, _ := Narrow(p, q)
		if why := Allows(p, got); why != "" {
			t.Fatalf("the narrowed policy allows what the first does not: %s\n%s", why, cmp.Diff(p, got))
		}
		q.Egress.Resolver = p.Egress.Resolver // the one key that is taken from the first
		if why := Allows(q, got); why != "" {
			t.Fatalf("the narrowed policy allows what the second does not: %s\n%s", why, cmp.Diff(q, got))
		}
		again, _ := Narrow(p, got)
		again.Name = got.Name
		if why := Allows(got, again) + Allows(again, got); why != "" {
			t.Fatalf("narrowing twice changes the policy: %s\n%s", why, cmp.Diff(got, again))
		}
	})
}

// TestAllowsSeesEachField widens one field at a time, so that a field which
// Allows forgets is found.
func TestAllowsSeesEachField(t *testing.T) {
	base := func() Policy {
		return Policy{
			Network: NetDeclared, Limits: Defaults(), Read: []Path{{Path: "/srv"}},
			Egress:       Egress{Ports: []int{443}},
			Interpreters: []Interpreter{{Name: "node", MinVersion: "20", MaxVersion: "22", SHA256: "aa"}},
			Skills:       []Skill{{Name: "s", Hosts: []Path{{Path: "*.example.com"}}}}, DisabledSkills: []string{"off"},
		}
	}
	cases := map[string]func(*Policy){
		"a layer preferred":       func(p *Policy) { p.Layers = []Layer{{Layer: report.Seccomp, Want: report.Prefer}} },
		"a wider network":         func(p *Policy) { p.Network = NetOpen },
		"an interpreter":          func(p *Policy) { p.Interpreters = append(p.Interpreters, Interpreter{Name: "bash"}) },
		"another program":         func(p *Policy) { p.Interpreters[0].Path = "/x" },
		"arguments":               func(p *Policy) { p.Interpreters[0].Args = []string{"-x"} },
		"interpreter environment": func(p *Policy) { p.Interpreters[0].Env = []string{"A=b"} },
		"interpreter reads":       func(p *Policy) { p.Interpreters[0].Read = []Path{{Path: "/opt"}} },
		"an older version":        func(p *Policy) { p.Interpreters[0].MinVersion = "18" },
		"a newer version":         func(p *Policy) { p.Interpreters[0].MaxVersion = "23" },
		"no pin":                  func(p *Policy) { p.Interpreters[0].SHA256 = "" },
		"a read":                  func(p *Policy) { p.Read = append(p.Read, Path{Path: "/etc"}) },
		"a write":                 func(p *Policy) { p.Write = []Path{{Path: "/srv"}} },
		"any port":                func(p *Policy) { p.Egress.Ports = nil },
		"another port":            func(p *Policy) { p.Egress.Ports = []int{22} },
		"more connections":        func(p *Policy) { p.Egress.Connections = UsualConnections + 1 },
		"an internal host":        func(p *Policy) { p.Egress.Internal = []Path{{Path: "db"}} },
		"a test resolver":         func(p *Policy) { p.Egress.Resolver = "127.0.0.1:1" },
		"a skill's network":       func(p *Policy) { p.Skills[0].Network = NetOpen },
		"a skill's read":          func(p *Policy) { p.Skills[0].Read = []Path{{Path: "/etc"}} },
		"a skill's host":          func(p *Policy) { p.Skills[0].Hosts = []Path{{Path: "example.com"}} },
		"a skill's secret":        func(p *Policy) { p.Skills[0].Secrets = []string{"TOKEN"} },
		"a skill's limits":        func(p *Policy) { p.Skills[0].Limits.Pids = 4096 },
		"another skill's row":     func(p *Policy) { p.Skills = append(p.Skills, Skill{Name: "t", Network: NetOpen}) },
		"an enabled skill":        func(p *Policy) { p.DisabledSkills = nil },
	}
	for _, name := range LimitNames() {
		cases["limit "+name] = func(p *Policy) {
			v, _ := p.Limits.Get(name)
			p.Limits = p.Limits.With(name, v+1)
		}
	}
	if why := Allows(base(), base()); why != "" {
		t.Fatalf("a policy does not allow itself: %s", why)
	}
	for name, widen := range cases {
		t.Run(name, func(t *testing.T) {
			q := base()
			widen(&q)
			if Allows(base(), q) == "" {
				t.Error("the wider policy passes as narrower")
			}
			if got, _ := Narrow(base(), q); Allows(base(), got) != "" {
				t.Error("narrowing keeps it")
			}
		})
	}
}

// TestNarrowKeepsWhatBothSay shows that narrowing is not just emptiness.
func TestNarrowKeepsWhatBothSay(t *testing.T) {
	p := Policy{
		Name: "hosted", Network: NetProxy, Limits: Defaults(), Read: []Path{{Path: "/etc/ssl", Why: "tls"}},
		Interpreters: []Interpreter{{Name: "node", MinVersion: "18", Why: "js"}},
	}
	q := p
	q.Name, q.Network = "acme", NetDeclared
	q.Interpreters = []Interpreter{{Name: "node", MinVersion: "20", Why: "js"}, {Name: "bash"}}
	q.Skills = []Skill{{Name: "demo", Hosts: []Path{{Path: "api.example.com"}}, Limits: Limits{MemoryBytes: 128 * mib}}}
	q.Read = []Path{{Path: "/etc", Why: "more"}}
	got, notes := Narrow(p, q)
	if got.Name != "hosted+acme" || got.Network != NetDeclared || got.LimitsFor("demo").MemoryBytes != 128*mib {
		t.Errorf("got %+v", got)
	}
	if len(got.Interpreters) != 1 || got.Interpreters[0].MinVersion != "20" {
		t.Errorf("interpreters %+v", got.Interpreters)
	}
	if d := cmp.Diff([]Path{{Path: "/etc/ssl", Why: "tls"}}, got.Read); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"api.example.com"}, got.HostsFor("demo")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"interpreter bash: not in the shipped policy"}, notes); d != "" {
		t.Error(d)
	}
}

// TestPolicyCrossesTheWallUnchanged re-encodes drawn policies.
func TestPolicyCrossesTheWallUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, _ := Narrow(drawPolicy(t, "p"), drawPolicy(t, "q"))
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back Policy
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(back); string(again) != string(text) {
			t.Fatalf("%s\n%s", text, again)
		}
	})
}

// TestLimitFieldsAreComplete holds the hand-written field list to the struct.
func TestLimitFieldsAreComplete(t *testing.T) {
	typ := reflect.TypeFor[Limits]()
	if typ.NumField() != len(new(Limits).fields()) || typ.NumField() != len(LimitNames()) {
		t.Fatalf("Limits has %d fields, fields() %d, LimitNames() %d", typ.NumField(), len(new(Limits).fields()), len(LimitNames()))
	}
	for i, name := range LimitNames() {
		if got := typ.Field(i).Tag.Get("json"); got != name {
			t.Errorf("field %d is %s in JSON and %s in LimitNames", i, got, name)
		}
	}
}
