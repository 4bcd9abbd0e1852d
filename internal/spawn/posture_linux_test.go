package spawn

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestPosture compares everything a run is with one expected text, so that a
// right that is there by accident fails too.
func TestPosture(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	s.Env = []string{"HOME=/nonexistent", "LANG=C", "PATH=/usr/bin", "TMPDIR=/elsewhere"}
	got := probe(t, h, s, "status:Uid,Gid,Groups,CapInh,CapPrm,CapEff,CapBnd,CapAmb,NoNewPrivs,Seccomp,Seccomp_filters,SigBlk,SigIgn,Umask",
		"fds", "sid", "pid", "cwd", "env", "host", "args", "limits", "list:/", "list:/dev", "list:/proc", "list:/tmp", "cat:/proc/self/cgroup", "cat:/proc/self/mountinfo")
	uid := strconv.Itoa(os.Getuid())
	bounding, nproc := "0000000000000000", ""
	if os.Getuid() == 0 {
		uid = strconv.Itoa(h.uid.uid)
		nproc = "256                  256"
	}
	dir := s.SkillPath
	want := map[string]string{
		"status:Uid,Gid,Groups,CapInh,CapPrm,CapEff,CapBnd,CapAmb,NoNewPrivs,Seccomp,Seccomp_filters,SigBlk,SigIgn,Umask": fmt.Sprintf(
			"Uid=%[1]s,%[1]s,%[1]s,%[1]s Gid=%[1]s,%[1]s,%[1]s,%[1]s Groups= CapInh=0000000000000000 CapPrm=0000000000000000 CapEff=0000000000000000 CapBnd=%[2]s CapAmb=0000000000000000 NoNewPrivs=1 Seccomp=2 Seccomp_filters=1 SigBlk=0000000000000000 SigIgn=0000000000000000 Umask=0077", uid, bounding),
		"fds": "0 1 2", "sid": "true true", "pid": "2 0", "cwd": "ok " + dir, "host": "skill",
		"env":    "HOME=/tmp/.home LANG=C PATH=/usr/bin TMPDIR=/tmp",
		"list:/": "EACCES ", "list:/dev": "EACCES ",
		"list:/proc": "ok 2 self thread-self", "list:/tmp": "ok .home " + strings.Split(dir, "/")[2],
	}
	for act, w := range want {
		if got.acts[act] != w {
			t.Errorf("%s\n got %q\nwant %q", act, got.acts[act], w)
		}
	}
	for _, l := range []string{
		"Max cpu time              65                   67", "Max file size             67108864             67108864",
		"Max core file size        1                    1", "Max open files            1024                 1024",
		"Max locked memory         65536                65536", "Max msgqueue size         0                    0",
		"Max realtime priority     0                    0", "Max nice priority         0                    0",
		"Max pending signals       1024                 1024", "Max stack size            8388608              8388608",
		"Max address space         unlimited            unlimited", "Max data size             unlimited            unlimited",
		"Max processes             " + nproc,
	} {
		if !strings.Contains(got.acts["limits"], l) {
			t.Errorf("limits lack %q: %s", l, got.acts["limits"])
		}
	}
	if os.Getuid() == 0 && strings.Count(got.acts["cat:/proc/self/cgroup"], "/"+h.name+"-") != 4 {
		t.Errorf("groups: %s", got.acts["cat:/proc/self/cgroup"])
	}
	mounts(t, got.acts["cat:/proc/self/mountinfo"])
	checkRows(t, got.fence)
}

// mounts checks every mount of the view: read-only or sized, nosuid, nodev but
// for devices, noexec where it can be written.
func mounts(t *testing.T, text string) {
	lines := strings.Split(strings.Trim(strings.TrimPrefix(text, "ok "), `"`), `\n`)
	if len(lines) < 10 {
		t.Fatalf("mounts: %s", text)
	}
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) < 6 {
			continue
		}
		at, flags := f[4], ","+f[5]+","
		device := strings.HasPrefix(at, "/dev/") && at != "/dev/shm"
		writable := at == "/tmp" || at == "/dev/shm" || at == "/proc" || device
		switch {
		case !strings.Contains(flags, ",nosuid,"),
			!device && !strings.Contains(flags, ",nodev,"),
			!writable && !strings.Contains(flags, ",ro,"),
			writable && !strings.Contains(flags, ",noexec,"):
			t.Errorf("mount %s has %s", at, f[5])
		}
	}
}

// checkRows wants every layer enforced that this user can have.
func checkRows(t *testing.T, f report.Fence) {
	t.Helper()
	for _, r := range f.Layers {
		want := report.Enforced
		if os.Getuid() != 0 && (r.Layer == report.UID || strings.HasPrefix(string(r.Layer), "cgroup")) {
			want = report.Absent
			if r.Layer == report.CgroupMemory { // watched, as no group bounds it
				want = report.Partial
			}
		}
		if r.Got != want || (want == report.Absent && (r.Reason == "" || r.Remedy == "" || strings.Contains(r.Reason, "\n"))) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

// TestRunEnds: however a run ends, the end is told right, in time, and nothing
// of it remains.
func TestRunEnds(t *testing.T) {
	h := newHost(t, testPolicy())
	for _, c := range []struct {
		name   string
		acts   []string
		term   bool
		leader Exit
	}{
		{"exits", []string{"exit:7"}, false, Exit{Code: 7}},
		{"is killed", []string{"die:9"}, false, Exit{Signal: "SIGKILL"}},
		{"is told to end", []string{"pid", "sleep:60000"}, true, Exit{Signal: "SIGTERM"}},
		{"ignores that it is told to end", []string{"deaf", "sleep:60000"}, true, Exit{Signal: "SIGKILL"}},
		{"leaves an orphan that holds its output", []string{"orphan:60000"}, false, Exit{}},
		{"leaves many", []string{"forks:40"}, false, Exit{}},
		{"signals its init", []string{"killns", "exit:3"}, false, Exit{Code: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := probeSpec(t, testPolicy())
			s.Args = c.acts
			r, out := start(t, h, s)
			if c.term {
				if _, err := out.Read(make([]byte, 64)); err != nil { // its first act is done
					t.Fatal(err)
				}
				r.Terminate()
				select {
				case <-r.Done():
				case <-time.After(500 * time.Millisecond):
				}
				r.Kill(2 * time.Second)
			}
			begin := time.Now()
			got := finish(t, r, out)
			if got.leader != c.leader {
				t.Errorf("leader %+v, want %+v: %s", got.leader, c.leader, got.text)
			}
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("took %v", d)
			}
			nothingLeft(t, h)
		})
	}
}

// nothingLeft looks for processes, groups and directories of the host's runs.
func nothingLeft(t *testing.T, h *Host) {
	t.Helper()
	h.dismiss() // the next child is none of this run's
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		b, _ := os.ReadFile("/proc/" + e.Name() + "/cgroup")
		if strings.Contains(string(b), "/"+h.name+"-") {
			t.Errorf("process %s is left", e.Name())
		}
	}
	places := []string{h.tmpRoot, h.groups.v2}
	for _, d := range h.groups.v1 {
		places = append(places, d)
	}
	for _, p := range places {
		if p == "" {
			continue
		}
		entries, _ := os.ReadDir(p)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), h.name) {
				t.Errorf("%s/%s is left", p, e.Name())
			}
		}
	}
}

// TestBombs: what a run may exhaust is its own, and the counters say what.
func TestBombs(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	root := os.Getuid() == 0
	if got := probe(t, h, s, "many:20000"); got.acts["many:20000"] != "ENOSPC" || !got.usage.DiskFull {
		t.Errorf("inodes: %v %+v", got.acts, got.usage)
	}
	if got := probe(t, h, s, "size:/tmp/big=100000000"); got.acts["size:/tmp/big=100000000"] != "ENOSPC" && got.acts["size:/tmp/big=100000000"] != "EFBIG" {
		t.Errorf("disk: %v", got.acts)
	}
	if got := probe(t, h, s, "size:/dev/shm/big=50000000"); got.acts["size:/dev/shm/big=50000000"] != "ENOSPC" {
		t.Errorf("shared memory: %v", got.acts)
	}
	if got := probe(t, h, s, "script:/tmp"); got.acts["script:/tmp"] != "EACCES" {
		t.Errorf("an executable made by the run: %v", got.acts)
	}
	if !root {
		return
	}
	s.Limits.MemoryBytes = 64 << 20
	if got := probe(t, h, s, "eat:200"); !got.usage.LeaderOOM || got.usage.OOMKills != 1 || got.leader.Signal != "SIGKILL" {
		t.Errorf("memory: %+v %+v", got.usage, got.leader)
	}
	if got := probe(t, h, s, "eat:30"); got.usage.OOMKills != 0 || got.usage.PeakMemory < 30<<20 || got.usage.PeakMemory > 64<<20 {
		t.Errorf("memory within the limit: %+v %v", got.usage, got.acts)
	}
	s.Limits = policy.Defaults()
	if got := probe(t, h, s, "forks:300"); got.acts["forks:300"] != "EAGAIN" || got.usage.PidsHit == 0 {
		t.Errorf("processes: %v %+v", got.acts, got.usage)
	}
	if got := probe(t, h, s, "spin:300"); got.usage.CPU < 5*time.Millisecond {
		t.Errorf("cpu: %+v", got.usage)
	}
}
