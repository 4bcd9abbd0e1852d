package escape

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/report"
)

// slack is what a result may take beyond its timeout: 2 s after SIGTERM, 2 s to
// kill, 250 ms to drain, 1 s to count (fence specification, section 13).
const slack = 5250 * time.Millisecond

// rooted reports whether the server's uid can make cgroups on every machine.
func rooted(uid int) bool { return uid == 0 }

// bomb is a run that uses up something, and the verdicts that name the cause.
type bomb struct {
	name, skill, script string
	args                map[string]any
	asRoot, asUser      []report.Verdict
	check               func(t *testing.T, r result)
}

// V8 or the kernel may be first where both bound the same memory.
var memory = []report.Verdict{report.OOMCgroup, report.OOMChild, report.OOMHeap}

// An ordinary user has no group: the helper looks, and ends the run.
var watched = []report.Verdict{report.OOMWatch}

// bombs are the runs. What an ordinary user has no bound for ends by the clock
// or by itself, and the report says that the layer is absent.
func bombs() []bomb {
	whatever := []report.Verdict{report.OOMCgroup, report.OOMChild, report.OOMHeap, report.Timeout, report.Signaled, report.Exited, report.Disk, report.CPU, report.Pids}
	return []bomb{
		{"heap", "small", "mem.js", map[string]any{"mode": "heap"}, memory, []report.Verdict{report.OOMHeap, report.Timeout}, nil},
		{"buffers", "small", "mem.js", map[string]any{"mode": "buffers"}, []report.Verdict{report.OOMCgroup}, watched, nil},
		{"child", "small", "mem.js", map[string]any{"mode": "child"}, []report.Verdict{report.OOMChild}, watched, nil},
		{"shm", "small", "mem.js", map[string]any{"mode": "shm"}, []report.Verdict{report.Exited, report.Disk, report.OOMCgroup}, whatever, stopped("ENOSPC")},
		{"wasm", "small", "mem.js", map[string]any{"mode": "wasm"}, memory, watched, nil},
		{"workers", "small", "mem.js", map[string]any{"mode": "workers"}, memory, watched, nil},
		{"forks", "few", "patient.js", map[string]any{"mode": "forks", "most": 100}, []report.Verdict{report.Pids}, nil, stopped("EAGAIN")},
		{"threads", "few", "patient.js", map[string]any{"mode": "threads", "most": 100}, []report.Verdict{report.Pids}, nil, nil},
		{"sleep", "probe", "cpu.js", map[string]any{"mode": "sleep"}, []report.Verdict{report.Timeout}, []report.Verdict{report.Timeout}, nil},
		{"stubborn", "probe", "cpu.js", map[string]any{"mode": "stubborn"}, []report.Verdict{report.Timeout}, []report.Verdict{report.Timeout}, killed},
		{"four", "small", "cpu.js", map[string]any{"mode": "four", "ms": 60000}, []report.Verdict{report.Timeout}, []report.Verdict{report.Timeout}, nil},
		{"flood", "probe", "out.js", map[string]any{"mode": "flood"}, []report.Verdict{report.OutputFlood}, []report.Verdict{report.OutputFlood}, nil},
		{"inodes", "small", "files.js", map[string]any{"mode": "many", "count": 100000}, whatever, whatever, acted("many", "ENOSPC")},
	}
}

// stopped wants what the script said stopped it, when it could say so.
func stopped(errno string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if strings.Contains(r.Stdout, "stopped") && !strings.Contains(r.Stdout, errno) {
			t.Errorf("stopped by %s, want %s", r.Stdout, errno)
		}
	}
}

// acted wants an act to have ended so, where the layer is there.
func acted(act, errno string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if r.Fence.Row(report.PrivateTmp).Got == report.Enforced && !strings.Contains(r.Stdout, fmt.Sprintf("%q:%q", act, errno)) {
			t.Errorf("%s, want %s of %s", r.Stdout, errno, act)
		}
	}
}

// killed wants the leader to have been ended by SIGKILL.
func killed(t *testing.T, r result) {
	t.Helper()
	if r.Signal == nil || *r.Signal != "SIGKILL" {
		t.Errorf("signal %v", r.Signal)
	}
}

func TestBombsEndInTimeNamedAndWithoutATrace(t *testing.T) {
	for name, uid := range users() {
		s := start(t, uid, "")
		for _, b := range bombs() {
			want := b.asRoot
			if !rooted(uid) {
				want = b.asUser
			}
			if want == nil { // nothing bounds it for this user, and the machine is not ours to fill
				continue
			}
			t.Run(name+"/"+b.name, func(t *testing.T) {
				idle := s.pings(pingControls)
				stop := s.pinging()
				r := s.run(b.skill, b.script, b.args)
				judgePings(t, idle, stop())
				if r.Error != "" {
					t.Fatal(r.Error)
				}
				if !slices.Contains(want, r.Verdict) {
					t.Errorf("verdict %s, want one of %v (stdout %.200q, stderr %.300q)", r.Verdict, want, r.Stdout, r.Stderr)
				}
				limit := time.Duration(scripts[b.script]*float64(time.Second)) + slack
				if r.Elapsed > limit {
					t.Errorf("took %v, more than %v: %s, %d ms of it the run's, evidence %+v, stdout %.200q", r.Elapsed, limit, r.Verdict, r.Evidence.WallMs, r.Evidence, r.Stdout)
				}
				if b.check != nil {
					b.check(t, r)
				}
				s.clean(t)
			})
		}
	}
}

// traces are what runs leave when they leave anything: directories, groups,
// mounts and processes of the runs' users.
func (s *server) traces() []string {
	var out []string
	for _, pattern := range []string{"/tmp/skill-mcp-run*", "/sys/fs/cgroup/*/skill-mcp-*/*", "/sys/fs/cgroup/skill-mcp-*/*"} {
		list, err := filepath.Glob(pattern)
		s.must(err)
		for _, l := range list {
			if st, err := os.Stat(l); err == nil && st.IsDir() && strings.Contains(l, fmt.Sprintf("-%d-", s.monitor)) {
				out = append(out, l)
			}
		}
	}
	text, err := os.ReadFile("/proc/self/mounts")
	s.must(err)
	for _, l := range strings.Split(string(text), "\n") {
		if strings.Contains(l, fmt.Sprintf("skill-mcp-%d", s.monitor)) {
			out = append(out, l)
		}
	}
	if n := s.children(); n > 0 {
		out = append(out, fmt.Sprintf("%d children of the monitor", n))
	}
	return out
}

// spare is how many processes the monitor may keep for the next run: a child
// that was born before it is asked for, and its namespaces' first process.
const spare = 2

// children counts the processes below the monitor, zombies included, that are
// not spare.
func (s *server) children() int {
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	s.must(err)
	other, waiting := 0, 0
	for _, p := range list {
		text, _ := os.ReadFile(p)
		_, after, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(after)
		if len(f) < 2 || f[1] != fmt.Sprint(s.monitor) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if f[0] == "S" && strings.HasPrefix(string(command), "skill-exec\x00child") {
			waiting++
		} else {
			other++
		}
	}
	return other + max(0, waiting-spare)
}

// clean waits until nothing of a run is left, for as long as the background
// reaper may take.
func (s *server) clean(t *testing.T) {
	t.Helper()
	var now []string
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		if now = s.traces(); len(now) == 0 && s.marked() == 0 {
			return
		}
	}
	t.Errorf("left behind: %v, %d marked processes", now, s.marked())
}

func TestTreesEndWithTheirRun(t *testing.T) {
	for name, uid := range users() {
		s := start(t, uid, "")
		for _, mode := range []string{"group exit", "session exit", "group sleep", "session sleep"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				r := s.run("probe", "tree.js", map[string]any{"mark": s.m.Mark, "mode": mode})
				var said struct{ Children, Alive int }
				if json.Unmarshal([]byte(r.Stdout), &said) != nil || said.Children < 2 || said.Alive < 1 {
					t.Fatalf("no tree: %+v", r)
				}
				if r.Elapsed > 3*time.Second+slack {
					t.Errorf("took %v", r.Elapsed)
				}
				if strings.HasSuffix(mode, "sleep") != r.TimedOut {
					t.Errorf("timed out: %v", r.TimedOut)
				}
				s.clean(t)
			})
		}
	}
}

func TestOutputIsCutAndNeverLost(t *testing.T) {
	s := start(t, plainOrSelf(), "")
	for _, c := range []struct {
		mode   string
		stdout int64 // bytes written
		holds  func(r result) bool
	}{
		{"some", 3 << 20, func(r result) bool { return r.Truncated.Stdout && len(r.Stdout) <= 1<<20 }},
		{"cut", 1<<20 + 2, func(r result) bool { return r.Truncated.Stdout && strings.Trim(r.Stdout, "a") == "" }},
		{"nul", 3, func(r result) bool { return r.Stdout == "a\x00b" }},
		{"exit", 1e6 + 1, func(r result) bool { return len(r.Stdout) == 1e6+1 }},
		{"invalid", 5, func(r result) bool { return strings.HasPrefix(r.Stdout, "a\ufffd") }},
		{"stderr", 0, func(r result) bool { return r.Truncated.Stderr && r.Evidence.StderrBytes == 3<<20 }},
	} {
		t.Run(c.mode, func(t *testing.T) {
			r := s.run("probe", "out.js", map[string]any{"mode": c.mode})
			if r.Evidence.StdoutBytes != c.stdout || !c.holds(r) || r.Verdict != report.Exited {
				t.Errorf("verdict %s, %d bytes seen, %d kept, truncated %+v, begins %.20q", r.Verdict, r.Evidence.StdoutBytes, len(r.Stdout), r.Truncated, r.Stdout)
			}
		})
	}
}

func TestAwkwardFilesGoWithTheRun(t *testing.T) {
	for name, uid := range users() {
		s := start(t, uid, "")
		for _, mode := range []string{"odd", "deep", "many"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				r := s.run("probe", "files.js", map[string]any{"mode": mode, "count": 3000})
				if r.Error != "" || !strings.Contains(r.Stdout, `"probe":"files"`) {
					t.Fatalf("%+v", r)
				}
				s.clean(t)
			})
		}
	}
}
