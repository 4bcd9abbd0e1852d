package mcpserver

import (
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/wire"
)

// overviewOf gives the overview and its scripts of the skill demo by path.
func overviewOf(t *testing.T, change func(*setup, *shelf, *wall)) (Overview, map[string]ScriptOverview) {
	t.Helper()
	o := newBench(t, change).Overview(t.Context())
	scripts := map[string]ScriptOverview{}
	for _, s := range o.Skills {
		for _, one := range s.Scripts {
			if s.Name == "demo" {
				scripts[one.Path] = one
			}
		}
	}
	if len(scripts) != 3 {
		t.Fatalf("%d scripts", len(scripts))
	}
	return o, scripts
}

// TestOverview: an owner who looks is told of each script what a run would get,
// or why there is none, and each problem with the skill it is of.
func TestOverview(t *testing.T) {
	o, scripts := overviewOf(t, func(_ *setup, s *shelf, _ *wall) {
		s.put("Odd", "description: d\n", "", nil)
		s.write("stray", "readme", "not a skill")
	})
	a := scripts["scripts/a.js"]
	if a.Why != "" || !slices.Equal(a.Env, []string{"A_KEY", "HOME", "PATH"}) || !slices.Equal(a.NotSet, []string{"B_KEY"}) || a.Network != "open" || a.TimeoutMs == 0 {
		t.Errorf("a script that runs: %+v", a)
	}
	if c := scripts["scripts/c.py"]; !strings.Contains(c.Why, "python3") || !slices.Equal(c.Hosts, []string{"example.com"}) {
		t.Errorf("a script without an interpreter: %+v", c)
	}
	for _, s := range o.Skills {
		want := 1 // "plain" has no description
		if s.Name == "demo" {
			want = 0
		}
		if len(s.Problems) != want || (want == 1 && s.Problems[0].Reason != catalog.NotPortable) {
			t.Errorf("%s: %+v", s.Name, s.Problems)
		}
	}
	if len(o.Problems) != 1 || o.Problems[0].Reason != catalog.NoSkillMD || o.Fence == nil {
		t.Errorf("elsewhere: %+v, fence %v", o.Problems, o.Fence)
	}
	if got := o.Grants(); got != "whatever a served skill declares" {
		t.Errorf("the grants are %q", got)
	}
}

// TestOverviewOfWhatDoesNotRun: each no has its reason.
func TestOverviewOfWhatDoesNotRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*setup, *shelf, *wall)
		want   string
	}{
		{"not granted", func(s *setup, _ *shelf, _ *wall) { s.front.Grants = grant.Grants{From: grant.FromHosted} }, "not granted: no script is granted"},
		{"switched off", func(s *setup, shelf *shelf, _ *wall) {
			s.view.Catalog, s.view.Disabled = shelf.scan(), []string{"demo"}
		}, "the owner disabled this skill"},
		{"refused by the helper", func(_ *setup, _ *shelf, w *wall) {
			w.refuse = &wire.Refused{Code: wire.CodeFence, Message: "landlock-fs is missing"}
		}, "landlock-fs is missing"},
		{"not scrubbed", func(s *setup, _ *shelf, w *wall) {
			s.front.Hosted, w.ready.Scrub = true, wire.Scrub{State: "failed", Reason: "EPERM"}
		}, "could not be wiped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, scripts := overviewOf(t, c.change); !strings.Contains(scripts["scripts/a.js"].Why, c.want) {
				t.Errorf("got %q, want %q in it", scripts["scripts/a.js"].Why, c.want)
			}
		})
	}
}
