package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"skill-mcp/internal/report"
)

func TestCompareVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.10", "1.9", 1}, {"v20.1.0", "20.1", 0}, {"20", "20.0.1", -1}, {"", "0", 0},
		{"22.4.1-nightly", "22.4.1", 0}, {"99999999999999999999999.1", "2", 1}, {"007", "7", 0},
	} {
		if got := CompareVersions(c.a, c.b); got != c.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := CompareVersions(c.b, c.a); got != -c.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		name, min, max, version string
		ok                      bool
	}{
		{"no bounds take an unknown version", "", "", "", true},
		{"bounds refuse an unknown version", "18", "", "", false},
		{"the lower bound itself is in", "18", "", "v18.0.0", true},
		{"below is out", "18", "", "17.9.9", false},
		{"an upper bound takes its minor versions", "", "22", "22.99.1", true},
		{"above is out", "", "22", "23.0.0", false},
		{"a longer bound is exact", "", "22.4", "22.5.0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Interpreter{MinVersion: c.min, MaxVersion: c.max}.Accepts(c.version)
			if (got == "") != c.ok {
				t.Errorf("Accepts(%q) = %q", c.version, got)
			}
		})
	}
}

func TestHostWithin(t *testing.T) {
	for _, c := range []struct {
		inner, outer string
		want         bool
	}{
		{"a.example.com", "*.example.com", true}, {"example.com", "*.example.com", false},
		{"*.a.example.com", "*.example.com", true}, {"*.example.com", "a.example.com", false},
		{"notexample.com", "*.example.com", false}, {"x", "*.", false}, {"", "", false},
	} {
		if got := HostWithin(c.inner, c.outer); got != c.want {
			t.Errorf("HostWithin(%q, %q) = %v", c.inner, c.outer, got)
		}
	}
}

func TestAForgottenLayerIsRequired(t *testing.T) {
	if got := (Policy{}).Want(report.Seccomp); got != report.Require {
		t.Errorf("the zero policy wants %s", got)
	}
}

func TestProxyWithoutAProxyIsNone(t *testing.T) {
	p := Policy{Network: NetProxy, Skills: []Skill{{Name: "s", Network: NetProxy}, {Name: "t", Network: NetDeclared}}}
	got := p.Resolve(false)
	if got.NetworkFor("") != NetNone || got.NetworkFor("s") != NetNone || got.NetworkFor("t") != NetDeclared {
		t.Errorf("got %+v", got)
	}
	if p.Skills[0].Network != NetProxy {
		t.Error("the original was changed")
	}
	if p.Resolve(true).NetworkFor("s") != NetProxy {
		t.Error("a set proxy was not kept")
	}
}

func TestExplainFindsTheOriginOfEachRow(t *testing.T) {
	shipped := Policy{Name: "hosted", Network: NetProxy, Limits: Defaults(), Read: []Path{{Path: "/etc/ssl", Why: "tls"}}}
	owner := shipped
	owner.Limits.Pids = 64
	owner.Limits.OpenFiles = 1 << 20
	owner.DisabledSkills = []string{"old"}
	got, _ := Narrow(shipped, owner)
	lines := map[string]int{"limits.pids": 4, "limits.openFiles": 5, "disabledSkills.old": 7}
	rows := Explain(got, []Source{{Name: "acme.yaml", Policy: owner, Lines: lines}, {Name: "hosted", Policy: shipped}})
	origins := map[string]string{}
	for _, r := range rows {
		if _, twice := origins[r.Key]; twice {
			t.Errorf("key %s twice", r.Key)
		}
		origins[r.Key] = r.Origin
	}
	want := map[string]string{
		"limits.pids": "acme.yaml:4", "limits.openFiles": "hosted", "disabledSkills.old": "acme.yaml:7",
		"read./etc/ssl": "hosted", "network": "hosted", "layers.seccomp": "default",
	}
	for k, o := range want {
		if origins[k] != o {
			t.Errorf("origin of %s is %q, want %q", k, origins[k], o)
		}
	}
}

func TestSkillRowsShowTheSkillsOwnRowsFirstInForce(t *testing.T) {
	p := Policy{Network: NetNone, Skills: []Skill{{Name: "a", Network: NetOpen}, {Name: "b", Secrets: []string{"X"}}}}
	rows := p.SkillRows(Explain(p, nil), "a")
	keys := []string{}
	for _, r := range rows {
		if len(r.Key) < 6 || r.Key[:6] != "limits" {
			keys = append(keys, r.Key)
		}
	}
	if d := cmp.Diff([]string{"skills.a.network"}, keys); d != "" {
		t.Error(d)
	}
}
