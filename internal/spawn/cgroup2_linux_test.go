package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// fakeV2 stands for a host that has only v2 groups: a directory whose new
// groups are filled as the kernel fills them, where their parent gives
// controllers to its children. The controllers of the machine of these tests
// are bound to v1 and cannot be moved; what kills and counts there is tested on
// real groups.
type fakeV2 struct {
	root  string
	files map[string]string // of a new group with controllers
}

func newFakeV2(t *testing.T) *fakeV2 {
	f := &fakeV2{t.TempDir(), map[string]string{
		"memory.max": "", "memory.swap.max": "", "pids.max": "", "cpu.max": "",
		"memory.peak": "4096\n", "pids.peak": "3\n", "cpu.stat": "usage_usec 1500\nuser_usec 1000\n",
		"memory.events": "low 0\noom 2\noom_kill 1\n", "pids.events": "max 7\n",
	}}
	f.fill(t, f.root, "cgroup.procs", "cgroup.subtree_control")
	return f
}

func (f *fakeV2) fill(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mkdir is the kernel: a new group has the files of the controllers that its
// parent gives on, or will, being able to.
func (f *fakeV2) mkdir(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil {
		return err
	}
	if st, err := os.Stat(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control")); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	for name, text := range f.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeV2) groups() *groups { return &groups{v1: map[string]string{}, mkdir: f.mkdir} }

func every(report.Layer) bool { return true }

// TestV2GroupsAreFoundAbove: the own group has processes, so that it cannot
// give controllers on; the delegated one above can.
func TestV2GroupsAreFoundAbove(t *testing.T) {
	f := newFakeV2(t)
	own := filepath.Join(f.root, "user.slice", "server")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	f.fill(t, own, "cgroup.procs")
	if err := os.Mkdir(filepath.Join(own, "cgroup.subtree_control"), 0o755); err != nil { // writing fails, as with EBUSY
		t.Fatal(err)
	}
	above := filepath.Dir(own)
	f.fill(t, above, "cgroup.procs", "cgroup.subtree_control")
	g := f.groups()
	g.findV2(f.root, "/user.slice/server", "leaf")
	if g.v2 != above || !g.limits || g.reason != nil {
		t.Errorf("groups are made in %q (limits %v, %v), want %q", g.v2, g.limits, g.reason, above)
	}
}

// TestV2WithoutControllersStillKills: such a group has no limits, and the
// reason says what is not there.
func TestV2WithoutControllersStillKills(t *testing.T) {
	f := newFakeV2(t)
	if err := os.Remove(filepath.Join(f.root, "cgroup.subtree_control")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(f.root, "cgroup.subtree_control"), 0o755); err != nil {
		t.Fatal(err)
	}
	g := f.groups()
	g.findV2(f.root, "/", "leaf")
	if g.v2 != f.root || g.limits || !errors.Is(g.reason, os.ErrNotExist) {
		t.Errorf("groups are made in %q (limits %v, %v)", g.v2, g.limits, g.reason)
	}
}

func TestV2LimitsAreSetAndReadBack(t *testing.T) {
	f := newFakeV2(t)
	g := f.groups()
	g.findV2(f.root, "/", "probe")
	l := policy.Defaults()
	l.MemoryBytes, l.Pids, l.CPUPercent = 64<<20, 20, 150
	o, err := g.make("run", l, initTasks, every)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "67108864", "memory.swap.max": "0", "pids.max": "28", "cpu.max": "150000 100000"} {
		got, err := os.ReadFile(filepath.Join(f.root, "run", name))
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s is %q, %v, want %s", name, got, err, want)
		}
	}
	for i, line := range o.lines {
		if line != " /run" {
			t.Errorf("line %d of the run's groups is %q", i, line)
		}
	}
	for l, want := range map[report.Layer]string{report.CgroupMemory: "64 MiB", report.CgroupPids: "20", report.CgroupCPU: "150 %"} {
		if o.levels[l] != want {
			t.Errorf("%s: level %q, want %q", l, o.levels[l], want)
		}
	}
	r := &Run{group: o, tmp: -1, leader: Exit{Signal: "SIGKILL"}}
	o.oom0 = 0
	if u := r.Usage(); u.PeakMemory != 4096 || u.PeakPids != 3 || u.CPU.Microseconds() != 1500 || u.OOMKills != 1 || !u.LeaderOOM || u.PidsHit != 7 {
		t.Errorf("counted %+v", u)
	}
}

// TestV2LimitThatDoesNotHold: a file that keeps another value, or is missing,
// is its layer's failure; without swap there is nothing to limit.
func TestV2LimitThatDoesNotHold(t *testing.T) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	for name, layer := range map[string]report.Layer{
		"memory.max": report.CgroupMemory, "pids.max": report.CgroupPids, "cpu.max": report.CgroupCPU, "memory.swap.max": report.CgroupMemory,
	} {
		f := newFakeV2(t)
		g := f.groups()
		g.findV2(f.root, "/", "probe")
		delete(f.files, name)
		_, err := g.make("run", policy.Defaults(), initTasks, every)
		if name == "memory.swap.max" && info.Totalswap == 0 {
			if err != nil {
				t.Errorf("no swap and no limit of it: %v", err)
			}
			continue
		}
		if err == nil || order.LayerOf(err, "") != layer {
			t.Errorf("without %s: %v, want an error of %s", name, err, layer)
		}
	}
}
