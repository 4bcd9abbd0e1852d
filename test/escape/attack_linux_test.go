package escape

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/report"
)

// probe is one script with what must work; every other act must be refused
// unless it is neutral.
type probe struct {
	script   string
	controls []string
	neutral  []string // acts that prove nothing, by prefix
}

// probes are the scripts that print acts.
var probes = []probe{
	{
		script: "fs-read.js",
		controls: []string{
			"open own-script", "stat own-script", "open own-bundle", "list own-bundle", "open interpreter",
			"open dev-null", "open dev-urandom", "list tmpdir", "open self-status",
		},
		// Landlock does not hide names: that a file exists may be seen.
		neutral: []string{"stat "},
	},
	{
		script: "fs-write.js",
		controls: []string{
			"create tmpdir", "truncate tmpdir", "mkdir tmpdir", "symlink tmpdir", "link tmpdir", "rename-into tmpdir",
			"chmod tmpdir-file", "rename-across tmpdir", "create slash-tmp", "mkdir slash-tmp", "create shm",
		},
		neutral: []string{"truncate s", "symlink s", "link s", "rename-into s", "mkdir shm"},
	},
	{script: "net.js", controls: []string{"own unix socket", "own abstract socket"}},
	{script: "sig.js", controls: []string{"signal self", "nice self"}},
	{
		script:   "SKILL.md",
		controls: []string{"control getpid", "control prlimit self", "control memfd", "control socketpair"},
	},
}

func TestEveryForbiddenActIsRefusedAndEveryControlWorks(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := start(t, uid, "")
			for _, p := range probes {
				t.Run(p.script, func(t *testing.T) { p.judge(t, s.acts(p.script)) })
			}
			if _, err := os.Stat(s.m.Outside); err != nil {
				t.Errorf("the file outside: %v", err)
			}
		})
	}
}

// TestWithoutUserNamespacesTheRestHolds is an ordinary user on a system that
// allows no namespaces: Landlock and seccomp stand alone.
func TestWithoutUserNamespacesTheRestHolds(t *testing.T) {
	s := startOn(t, plainOrSelf(), "", "1 user-namespaces")
	for _, p := range probes {
		p.neutral = append(slices.Clone(p.neutral), notPromised[p.script]...)
		p.controls = slices.DeleteFunc(slices.Clone(p.controls), func(c string) bool { return strings.HasSuffix(c, "slash-tmp") || strings.HasSuffix(c, "shm") })
		t.Run(p.script, func(t *testing.T) { p.judge(t, s.acts(p.script)) })
	}
	r := s.run("probe", "self.js", nil)
	for _, l := range []report.Layer{report.NSPid, report.NSMount, report.NSNet, report.NSIpc} {
		if row := r.Fence.Row(l); row.Got != report.Absent || row.Reason == "" || row.Remedy == "" {
			t.Errorf("%+v", row)
		}
	}
}

// TestARequiredLayerThatIsMissingRefusesTheRun: require says no with the layer,
// the reason and the remedy, prefer runs and reports the same.
func TestARequiredLayerThatIsMissingRefusesTheRun(t *testing.T) {
	for name, uid := range users() {
		for _, c := range []struct{ layer, deny, remedy string }{
			{"landlock-fs", "38 landlock_create_ruleset", "5.13"},
			{"landlock-fs", "95 landlock_create_ruleset", "lsm="},
			{"landlock-fs", "1 landlock_create_ruleset", "container"},
			{"seccomp", "38 seccomp", "CONFIG_SECCOMP"},
		} {
			t.Run(name+"/"+c.layer+" "+c.remedy, func(t *testing.T) {
				no := startOn(t, uid, "", c.deny).run("probe", "self.js", nil).Error
				for _, word := range []string{c.layer, "absent", c.remedy} {
					if !strings.Contains(no, word) {
						t.Errorf("refused with %q, which does not say %q", no, word)
					}
				}
				prefer := fmt.Sprintf("layers:\n  %s: {want: prefer, why: an old kernel}\n", c.layer)
				r := startOn(t, uid, prefer, c.deny).run("probe", "self.js", nil)
				row := r.Fence.Row(report.Layer(c.layer))
				if r.Verdict != report.Exited || row.Got != report.Absent || row.Reason == "" || !strings.Contains(row.Remedy, c.remedy) {
					t.Errorf("preferred: verdict %s %s, %+v", r.Verdict, r.Error, row)
				}
			})
		}
	}
}

// notPromised are acts that only namespaces or a uid of the run's own refuse
// (fence specification, section 4).
var notPromised = map[string][]string{
	// Landlock knows no metadata; the owner of a file may change its own.
	"fs-write.js": {"chmod bundle-file", "utimes bundle-file", "create slash-tmp", "mkdir slash-tmp", "create shm"},
	// Sockets by path need ABI 9 (Linux 7.1) or a mount namespace.
	"net.js": {"unix decoy"},
	// Signal 0 to whom it may: the run's own processes are among everybody.
	"sig.js": {"signal everybody"},
}

// judge compares acts with what is allowed.
func (p probe) judge(t *testing.T, acts map[string]string) {
	t.Helper()
	if len(acts) < len(p.controls)+3 {
		t.Fatalf("only %d acts: %v", len(acts), acts)
	}
	control := map[string]bool{}
	for _, c := range p.controls {
		control[c] = true
		if acts[c] != "ok" {
			t.Errorf("control %q: %s", c, acts[c])
		}
	}
	for act, got := range acts {
		if got == "ok" && !control[act] && !p.isNeutral(act) {
			t.Errorf("forbidden act works: %s", act)
		}
	}
}

// isNeutral reports whether an act proves nothing.
func (p probe) isNeutral(act string) bool {
	for _, n := range p.neutral {
		if strings.HasPrefix(act, n) {
			return true
		}
	}
	return false
}

// TestAnswersOfTheFilter holds the errnos that a libc has to see.
func TestAnswersOfTheFilter(t *testing.T) {
	s := start(t, plainOrSelf(), "")
	acts := s.acts("SKILL.md")
	for act, want := range map[string]string{
		"clone3": "ENOSYS", "io_uring_setup": "ENOSYS", "unknown call": "ENOSYS",
		"clone newuser": "EPERM", "clone newns upper bits": "EPERM", "keyctl": "EPERM", "bpf": "EPERM", "mount": "EPERM",
		"tiocsti": "EPERM", "tiocsti upper bits": "EPERM", "prlimit parent": "EPERM", "prlimit parent upper bits": "EPERM",
		"socket vsock": "EAFNOSUPPORT", "socket vsock upper bits": "EAFNOSUPPORT", "socket udp": "EAFNOSUPPORT",
	} {
		if acts[act] != want {
			t.Errorf("%s: %s, want %s", act, acts[act], want)
		}
	}
}

// plainOrSelf is the ordinary user that the suite can be.
func plainOrSelf() int {
	if os.Geteuid() == 0 {
		return plainUser
	}
	return os.Geteuid()
}

// off is a policy without some layers.
func off(layers ...string) string {
	text := "layers:\n"
	for _, l := range layers {
		text += "  " + l + ": {want: \"off\", why: the attack has to work}\n"
	}
	return text
}

// TestWithALayerOffItsAttackWorks shows what each layer stops.
func TestWithALayerOffItsAttackWorks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("these attacks need a server that is started as root")
	}
	for _, c := range []struct {
		layers []string
		script string
		acts   []string
	}{
		{[]string{"landlock-fs", "ns-mount", "private-tmp"}, "fs-read.js", []string{"open outside", "open link-outside", "list home"}},
		{[]string{"landlock-fs", "ns-mount", "private-tmp"}, "fs-write.js", []string{"create outside", "overwrite outside-file"}},
		{[]string{"landlock-fs", "ns-mount", "private-tmp", "uid", "capabilities", "parent-protected"}, "fs-read.js", []string{"open secret", "open /etc/shadow"}},
		{[]string{"ns-net", "landlock-net", "seccomp"}, "net.js", []string{"tcp decoy", "udp decoy", "listen any"}},
		{[]string{"ns-net", "landlock-scope"}, "net.js", []string{"abstract decoy"}},
		{[]string{"ns-mount", "private-tmp", "landlock-fs"}, "net.js", []string{"unix decoy"}},
		{[]string{"ns-pid", "uid", "landlock-scope"}, "sig.js", []string{"signal monitor"}},
		{[]string{"ns-pid", "uid", "seccomp", "landlock-scope", "capabilities", "parent-protected"}, "sig.js", []string{"nice monitor"}},
		{[]string{"ns-pid", "ns-mount", "private-tmp", "uid", "seccomp", "landlock-fs", "landlock-scope", "capabilities", "parent-protected"}, "SKILL.md", []string{
			"tgkill monitor", "tkill monitor", "sched_setaffinity monitor", "setpriority monitor", "ioprio_set monitor",
			"open monitor oom_score_adj",
		}},
		{[]string{"seccomp"}, "SKILL.md", []string{"socket vsock", "add_key", "clone3", "prlimit parent", "io_uring_setup", "personality", "socket udp"}},
	} {
		t.Run(strings.Join(c.layers, " ")+" "+c.script, func(t *testing.T) {
			s := start(t, 0, off(c.layers...))
			link := s.m.Root + "/probe/link"
			s.must(os.Symlink(s.m.Outside, link))
			acts := s.acts(c.script, "link", link)
			for _, a := range c.acts {
				if acts[a] != "ok" {
					t.Errorf("%s: %s", a, acts[a])
				}
			}
		})
	}
}
