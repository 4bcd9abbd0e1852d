package policyfile

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	shipped "skill-mcp/policy"
)

// mustShip loads a shipped policy.
func mustShip(t *testing.T, name string) policy.Policy {
	t.Helper()
	p, err := Shipped(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestShippedPoliciesRequireWhatTheyPromise(t *testing.T) {
	promise := []report.Layer{
		report.Environ, report.ProcessGroup, report.Deadline, report.Rlimits, report.NoNewPrivs,
		report.Capabilities, report.LandlockFS, report.Seccomp, report.ParentProtected,
	}
	want := map[string][]report.Layer{
		"hosted": promise, "standalone": promise, "portable": nil, "strict": report.Layers(),
	}
	for name, layers := range want {
		p := mustShip(t, name)
		if p.Name != name {
			t.Errorf("policy %s is called %s", name, p.Name)
		}
		var got []report.Layer
		for _, l := range report.Layers() {
			if p.Want(l) == report.Require {
				got = append(got, l)
			}
			if name == "portable" && p.Want(l) == report.Off {
				t.Errorf("portable does not even try %s", l)
			}
		}
		if d := cmp.Diff(layers, got); d != "" {
			t.Errorf("policy %s requires (-want +got):\n%s", name, d)
		}
	}
}

func TestShippedPoliciesGiveAReasonForEachGrant(t *testing.T) {
	for _, name := range shippedNames() {
		p := mustShip(t, name)
		for _, l := range p.Layers {
			if l.Why == "" || strings.Contains(l.Why, "does not name") {
				t.Errorf("%s: layer %s has no reason", name, l.Layer)
			}
		}
		for _, r := range p.Rows() {
			granted := r.Value == "granted" || regexp.MustCompile(`^interpreters\.[a-z0-9]+$`).MatchString(r.Key)
			if granted && r.Why == "" {
				t.Errorf("%s: %s has no reason", name, r.Key)
			}
		}
	}
}

func TestShippedNetworkModes(t *testing.T) {
	want := map[string]policy.Network{"hosted": "proxy", "standalone": "declared", "portable": "open", "strict": "declared"}
	for name, mode := range want {
		if p := mustShip(t, name); p.Network != mode {
			t.Errorf("%s has network %s, want %s", name, p.Network, mode)
		}
	}
	got, err := Load(Options{Hosted: true, Linux: true})
	if err != nil || got.Policy.Network != policy.NetNone {
		t.Errorf("hosted without a proxy has network %s, %v", got.Policy.Network, err)
	}
}

func TestShippedPoliciesHoldTheDefaultLimits(t *testing.T) {
	for _, name := range shippedNames() {
		if d := cmp.Diff(policy.Defaults(), mustShip(t, name).Limits); d != "" {
			t.Errorf("%s (-defaults +got):\n%s", name, d)
		}
	}
}

// TestReadyMadeInterpretersLoad takes the comment signs away, as a reader would.
func TestReadyMadeInterpretersLoad(t *testing.T) {
	for _, name := range shippedNames() {
		text, _ := shipped.Text(name)
		open := regexp.MustCompile(`(?m)^#(  +\S)`).ReplaceAll(text, []byte("$1"))
		p, problems := parse(name, open, func(string) policy.Policy { return nothing(name) })
		if problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
		if d := cmp.Diff([]string{"node", "python3", "bash", "deno", "bun"}, p.policy.Names()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDefaultChoice(t *testing.T) {
	for _, c := range []struct {
		hosted, linux bool
		want          string
	}{{true, true, "hosted"}, {true, false, "hosted"}, {false, true, "standalone"}, {false, false, "portable"}} {
		if got := Default(c.hosted, c.linux); got != c.want {
			t.Errorf("hosted %v linux %v: %s, want %s", c.hosted, c.linux, got, c.want)
		}
	}
}
