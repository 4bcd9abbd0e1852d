package spawn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestOwnersTrees: what only its owner may read or write is the run's to read
// or write when it is granted, under parents nobody else may enter; what the
// run writes belongs to the owner, and nothing else can be written.
func TestOwnersTrees(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	outer := t.TempDir()
	for _, d := range []string{"skill", "data", "granted"} {
		if err := os.MkdirAll(filepath.Join(outer, "closed", d), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outer, "closed", d, "secret"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(filepath.Join(outer, "closed"), 0o700)
	at := func(p string) string { return filepath.Join(outer, "closed", p) }
	skill, err := os.Open(at("skill"))
	if err != nil {
		t.Fatal(err)
	}
	defer skill.Close()
	s.SkillDir, s.SkillPath, s.DataDir, s.Read = skill, at("skill"), at("data"), []string{at("granted")}
	got := probe(t, h, s, "cwd", "read:"+at("skill/secret"), "write:"+at("skill/new"), "chmod:"+at("skill/secret"),
		"write:"+at("data/new"), "read:"+at("data/secret"), "write:"+at("granted/new"), "script:"+at("data"), "stat:"+at("other"), "list:"+at(""))
	for act, want := range map[string]string{
		"cwd": "ok " + at("skill"), "read:" + at("skill/secret"): "ok", "chmod:" + at("skill/secret"): "EROFS",
		"write:" + at("data/new"): "ok", "read:" + at("data/secret"): "ok", "script:" + at("data"): "EACCES", "stat:" + at("other"): "ENOENT",
	} {
		if got.acts[act] != want {
			t.Errorf("%s: %q, want %q", act, got.acts[act], want)
		}
	}
	for _, act := range []string{"write:" + at("skill/new"), "write:" + at("granted/new")} {
		if r := got.acts[act]; r != "EROFS" && r != "EACCES" {
			t.Errorf("%s: %q", act, r)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(at("data/new"), &st); err != nil || int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid() {
		t.Errorf("the new file: %v, owner %d:%d", err, st.Uid, st.Gid)
	}
}

// TestDataFolder: what a run leaves in the owner's data folder gives nobody the
// owner's rights, and the approvals that were used there stay used.
func TestDataFolder(t *testing.T) {
	h := newHost(t, testPolicy())
	for _, link := range []bool{false, true} {
		s := probeSpec(t, testPolicy())
		real := filepath.Join(t.TempDir(), "data")
		spent := filepath.Join(real, spentDir, "spent")
		if err := os.MkdirAll(spent, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(spent, "used"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.DataDir = real
		if link {
			s.DataDir = real + ".link"
			if err := os.Symlink(real, s.DataDir); err != nil {
				t.Fatal(err)
			}
		}
		at := func(p string) string { return filepath.Join(s.DataDir, p) }
		got := probe(t, h, s, "write:"+at("new"), "setid:"+at("setid"), "read:"+at(spentDir+"/spent/used"), "write:"+at(spentDir+"/new"), "rename:"+at(spentDir))
		for act, want := range map[string]string{
			"write:" + at("new"): "ok", "setid:" + at("setid"): "EPERM", "read:" + at(spentDir+"/spent/used"): "ENOENT",
			"write:" + at(spentDir+"/new"): "ENOSPC", "rename:" + at(spentDir): "EBUSY",
		} {
			if got.acts[act] != want {
				t.Errorf("%s: %q, want %q", act, got.acts[act], want)
			}
		}
	}
}

// TestSharedIPC: a run makes segments in a namespace of its own or not at all.
func TestSharedIPC(t *testing.T) {
	for want, p := range map[string]policy.Policy{"ok": testPolicy(), "ENOSYS": testPolicy(report.NSIpc)} {
		if got := probe(t, newHost(t, p), probeSpec(t, p), "segment"); got.acts["segment"] != want {
			t.Errorf("segment: %q, want %q", got.acts["segment"], want)
		}
	}
}

// TestExchangedSkill: the directory that was checked is the one that is shown.
func TestExchangedSkill(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	other, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s.SkillDir = other
	p := testPolicy()
	for i := range p.Layers {
		p.Layers[i].Want = report.Require
		if os.Getuid() != 0 && (p.Layers[i].Layer == report.UID || strings.HasPrefix(string(p.Layers[i].Layer), "cgroup")) {
			p.Layers[i].Want = report.Off
		}
	}
	s.Policy = p
	if _, err := h.Start(s); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("an exchanged skill directory: %v", err)
	}
}

// TestNetworkModes: what each mode gives and keeps.
func TestNetworkModes(t *testing.T) {
	h := newHost(t, testPolicy())
	outside := listener(t)
	_, port, _ := strings.Cut(outside, ":")
	other := listener(t)
	acts := []string{"connect:" + outside, "connect:" + other, "socket:2,2,0", "socket:40,1,0", "socket:2,1,262", "socket:16,3,9", "socket:17,3,0", "fastopen:" + port, "abstract:" + abstract(t), "listen"}
	for mode, want := range map[policy.Network][]string{
		policy.NetNone:     {"EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EPERM ECONNREFUSED", "EAFNOSUPPORT"},
		policy.NetProxy:    {"ok", "EACCES", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EPERM", "EPERM", "EPERM"},
		policy.NetDeclared: {"ECONNREFUSED", "ECONNREFUSED", "ok", "EAFNOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EPERM", "EPERM ECONNREFUSED", "ok"},
		policy.NetOpen:     {"ok", "ok", "ok", "EAFNOSUPPORT", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "EPERM", "EPERM", "ok"},
	} {
		s := probeSpec(t, testPolicy())
		s.Network = mode
		if mode == policy.NetProxy {
			for _, c := range port {
				s.ProxyPort = s.ProxyPort*10 + int(c-'0')
			}
		}
		s.Args = acts
		r, out := start(t, h, s)
		if (r.Device() != nil) != (mode == policy.NetDeclared) {
			t.Errorf("%s: device %v", mode, r.Device())
		}
		got := finish(t, r, out)
		for i, a := range acts {
			if !slices.Contains(strings.Fields(want[i]), got.acts[a]) {
				t.Errorf("%s: %s: %q, want %s", mode, a, got.acts[a], want[i])
			}
		}
	}
}

// TestModeWithoutItsMeans: a mode that cannot be held gives less, never more.
func TestModeWithoutItsMeans(t *testing.T) {
	h := newHost(t, testPolicy())
	outside := listener(t)
	acts := []string{"connect:" + outside, "socket:2,2,0"}
	for _, c := range []struct {
		mode policy.Network
		off  []report.Layer
		want []string
	}{
		{policy.NetDeclared, []report.Layer{report.NSNet}, []string{"EACCES", "EPROTONOSUPPORT"}},
		{policy.NetDeclared, []report.Layer{report.NSNet, report.LandlockNet}, []string{"EAFNOSUPPORT", "EAFNOSUPPORT"}},
		{policy.NetProxy, []report.Layer{report.LandlockNet}, []string{"EAFNOSUPPORT", "EAFNOSUPPORT"}},
	} {
		s := probeSpec(t, testPolicy(c.off...))
		s.Network = c.mode
		got := probe(t, h, s, acts...)
		for i, a := range acts {
			if got.acts[a] != c.want[i] {
				t.Errorf("%s without %v: %s: %q, want %s", c.mode, c.off, a, got.acts[a], c.want[i])
			}
		}
	}
}
