package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestWhatARunSwapsForALinkIsNotFollowed: the policy names a path that lies in a
// folder which runs may write; a run puts a link to the owner's files in its
// place, and the next run must not get them.
func TestWhatARunSwapsForALinkIsNotFollowed(t *testing.T) {
	for name, grant := range map[string]func(*Spec, string){
		"a read of the policy":         func(s *Spec, at string) { s.Policy.Read = []policy.Path{{Path: at}} },
		"a read of the skill's":        func(s *Spec, at string) { s.Read = []string{at} },
		"a read of the interpreter's":  func(s *Spec, at string) { s.Exec.Read = append(s.Exec.Read, at) },
		"a folder to write":            func(s *Spec, at string) { s.Policy.Write = append(s.Policy.Write, policy.Path{Path: at}) },
		"the data folder":              func(s *Spec, at string) { s.DataDir = at },
		"a read through a link to it":  func(s *Spec, at string) { s.Read = []string{filepath.Join(filepath.Dir(at)+".alias", "inner")} },
		"a read through another mount": func(s *Spec, at string) { s.Read = []string{filepath.Join(filepath.Dir(at)+".mount", "inner")} },
	} {
		for _, off := range [][]report.Layer{nil, {report.NSMount, report.PrivateTmp, report.UID}} {
			if name == "a read through another mount" && os.Getuid() != 0 {
				continue // only root can make the mount
			}
			t.Run(name, func(t *testing.T) { swap(t, testPolicy(off...), grant) })
		}
	}
}

func swap(t *testing.T, p policy.Policy, grant func(*Spec, string)) {
	h := newHost(t, p)
	s := probeSpec(t, p)
	base := t.TempDir()
	work, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	inner := filepath.Join(work, "inner")
	err := errors.Join(os.MkdirAll(inner, 0o755), os.MkdirAll(outside, 0o755), os.WriteFile(filepath.Join(outside, "secret"), nil, 0o644),
		os.Symlink(work, work+".alias"), os.Mkdir(work+".mount", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := unix.Mount(work, work+".mount", "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		defer unix.Unmount(work+".mount", unix.MNT_DETACH)
	}
	s.Policy.Write = []policy.Path{{Path: work}}
	grant(&s, inner)
	got := probe(t, h, s, "write:"+inner+"/own", "rename:"+inner, "link:"+outside+"="+inner, "write:"+work+"/new")
	if got.acts["write:"+work+"/new"] != "ok" {
		t.Fatalf("the run cannot write its folder: %v %+v", got.acts, got.fence.Row(report.NSMount))
	}
	if at, err := os.Readlink(inner); err != nil || at != outside { // a mount of its own is in the way: another program of the owner's does it
		os.Rename(inner, inner+".away")
		if err := os.Symlink(outside, inner); err != nil {
			t.Fatal(err)
		}
	}
	s = probeSpec(t, p)
	s.Policy.Write = []policy.Path{{Path: work}}
	grant(&s, inner)
	alias := filepath.Base(outside)
	for _, act := range []string{"read:" + outside + "/secret", "read:" + inner + "/secret", "write:" + outside + "/new", "list:" + filepath.Join(base, alias)} {
		if r := probe(t, h, s, act).acts[act]; r == "ok" || len(r) > 2 && r[:3] == "ok " {
			t.Errorf("%s: %q", act, r)
		}
	}
}
