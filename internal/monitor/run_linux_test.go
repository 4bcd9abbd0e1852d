package monitor

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// orphans is a script whose grandchild has a session of its own, lost its
// parent and holds both pipes.
const orphans = `
const {spawnSync} = require('child_process');
const far = "console.log('far'); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
const mid = "require('child_process').spawn(process.execPath, ['-e', process.argv[1], process.argv[2]], {detached: true, stdio: 'inherit'}).unref()";
spawnSync(process.execPath, ['-e', mid, far, process.argv[2]], {stdio: 'inherit'});
console.log('leader'); `

func TestALeaderThatLeavesAGrandchildReturnsSoon(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid})
		for _, how := range []string{"process.exit(0)", "process.kill(process.pid, 'SIGKILL')"} {
			mark := "orphan-" + itoa(uid) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
			begin := time.Now()
			out := s.run(s.script("node", orphans+how, mark))
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("%s: returned after %v", how, took)
			}
			if !strings.Contains(string(out.Stdout), "leader") || out.TimedOut {
				t.Errorf("%s: %+v %s %s", how, out.Verdict, out.Stdout, out.Stderr)
			}
			if left := commands(mark); len(left) > 0 {
				t.Errorf("%s: %v are left", how, left)
			}
		}
	})
}

func TestTheDeadlineHolds(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid})
		polite := s.script("bash", "trap 'exit 3' TERM; while :; do :; done")
		polite.TimeoutMs = 300
		out := s.run(polite)
		if !out.TimedOut || out.ExitCode == nil || *out.ExitCode != 3 || out.Verdict != report.Timeout || out.TimeoutMs != 300 {
			t.Errorf("a script that obeys: %+v", out.Result)
		}
		deaf := s.script("bash", "trap '' TERM; while :; do :; done")
		deaf.TimeoutMs = 300
		begin := time.Now()
		out = s.run(deaf)
		if !out.TimedOut || out.ExitCode != nil || out.Signal != "SIGKILL" || out.Verdict != report.Timeout {
			t.Errorf("a script that does not: %+v", out.Result)
		}
		if took := time.Since(begin); took < 2*time.Second || took > 5550*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestACancelEndsTheRunAsTheDeadlineDoes(t *testing.T) {
	s := serve(t, options{})
	ctx, cancel := context.WithCancel(within(t))
	req := s.script("bash", "trap 'exit 4' TERM; echo up; while :; do :; done")
	out, err := s.Run(ctx, req, nil, func(p wire.Progress) {
		if p.StdoutBytes > 0 {
			cancel()
		}
	})
	cancel()
	if err != nil || out.Verdict != report.Cancelled || out.TimedOut || out.ExitCode == nil || *out.ExitCode != 4 {
		t.Fatalf("%v %+v", err, out.Result)
	}
	if out := s.run(s.script("bash", "exit 0")); out.Verdict != report.Exited {
		t.Errorf("the next run: %+v", out.Result)
	}
}

// flooder is head, which writes zeros as fast as a pipe takes them, then the script.
func flooder(bytes, flood int64) func(*wire.Boot) {
	return func(b *wire.Boot) {
		b.Policy.Interpreters = append(b.Policy.Interpreters, policy.Interpreter{
			Name: "head", Args: []string{"-q", "-c", strconv.FormatInt(bytes, 10), "/dev/zero"}, Why: "test",
		})
		b.Policy.Limits.OutputFloodBytes = flood
	}
}

func TestThreeGigabytesOfOutputNeedNoMemory(t *testing.T) {
	const size = 3 << 30
	s := serve(t, options{boot: flooder(size, 4<<30)})
	out := s.run(s.script("head", "end"))
	if len(out.Stdout) != wire.MaxOutput || !out.StdoutTruncated || out.StderrTruncated || out.Evidence.StdoutBytes != size+3 || out.Verdict != report.Exited {
		t.Errorf("%d kept, %+v %s", len(out.Stdout), out.Evidence, out.Stderr)
	}
	peak, _, _ := strings.Cut(status(s.cmd.Process.Pid, "VmHWM"), " ")
	kib, err := strconv.Atoi(peak)
	if err != nil || kib > 48<<10 {
		t.Errorf("the monitor's peak is %s kB", peak)
	}
	t.Logf("drained in %d ms, peak %s kB", out.DurationMs, peak)
}

func TestAFloodIsEnded(t *testing.T) {
	s := serve(t, options{boot: flooder(1<<40, 8<<20)})
	out := s.run(s.script("head", "end"))
	if out.Verdict != report.OutputFlood || out.TimedOut || len(out.Stdout) != wire.MaxOutput || out.DurationMs > 5000 {
		t.Errorf("%+v", out.Result)
	}
}

func TestOutputAtOnceBeforeTheExitIsWhole(t *testing.T) {
	s := serve(t, options{})
	out := s.run(s.script("node", "console.log('x'.repeat(2**20 - 2)); console.error('e'); process.exit(1)"))
	if len(out.Stdout) != 1<<20-1 || out.StdoutTruncated || string(out.Stderr) != "e\n" {
		t.Errorf("%d bytes, %q", len(out.Stdout), out.Stderr)
	}
	out = s.run(s.script("node", "process.stdout.write('x'.repeat(2**20 - 1) + '€')"))
	if text := runner.Text(out.Stdout, out.StdoutTruncated); !out.StdoutTruncated || len(text) != 1<<20-1 {
		t.Errorf("%d bytes of text, cut %v", len(text), out.StdoutTruncated)
	}
}

// traces is what the runs of one monitor may leave behind.
type traces struct {
	fds, zombies, named, mounts int
}

// prepared is what one child that waits for the next run holds: it may have
// been born before or after a count, and is none of what runs leave.
var prepared = traces{fds: 8, named: 4}

// within reports whether nothing has been left since before.
func (a traces) within(before traces) bool {
	return a.fds <= before.fds+prepared.fds && a.zombies <= before.zombies && a.named <= before.named+prepared.named && a.mounts <= before.mounts
}

func tracesOf(pid int) traces {
	count := func(pattern string) int {
		list, _ := filepath.Glob(pattern)
		return len(list)
	}
	text, _ := os.ReadFile("/proc/" + itoa(pid) + "/mountinfo")
	out := traces{fds: count("/proc/" + itoa(pid) + "/fd/*"), mounts: strings.Count(string(text), "\n")}
	lists, _ := filepath.Glob("/proc/" + itoa(pid) + "/task/*/children")
	for _, c := range lists {
		text, _ := os.ReadFile(c)
		for _, f := range strings.Fields(string(text)) {
			if child, _ := strconv.Atoi(f); strings.HasPrefix(status(child, "State"), "Z") {
				out.zombies++
			}
		}
	}
	// Groups and directories are named by the monitor's pid.
	out.named = count("/tmp/skill-mcp-*-" + itoa(pid) + "-*")
	filepath.WalkDir("/sys/fs/cgroup", func(_ string, d fs.DirEntry, err error) error {
		if ok, _ := filepath.Match("skill-mcp-*-"+itoa(pid)+"-*", d.Name()); err == nil && ok {
			out.named++
		}
		return nil // a group that ends meanwhile is none
	})
	return out
}

// TestAThousandRunsLeaveNothing takes a few seconds: a leak of one in a
// hundred has to show.
func TestAThousandRunsLeaveNothing(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid})
		req := s.script("true", "")
		for _, i := range []string{"node", "bash", "true"} { // also waits for every question for a version
			s.run(s.script(i, ""))
		}
		before := tracesOf(s.cmd.Process.Pid)
		begin := time.Now()
		runs := map[int]int{0: 1000, plainUID: 300}[uid]
		for range runs {
			if out := s.run(req); out.Verdict != report.Exited || *out.ExitCode != 0 || len(out.Evidence.Leftovers)+len(out.Evidence.Survivors) > 0 {
				t.Fatalf("%+v", out.Result)
			}
		}
		t.Logf("%v a run", time.Since(begin)/time.Duration(runs))
		var after traces
		defer func() {
			if t.Failed() {
				t.Logf("before %+v, after %+v", before, after)
			}
		}()
		until(t, "nothing is left", func() bool {
			after = tracesOf(s.cmd.Process.Pid)
			return after.within(before)
		})
	})
}

// decoy is a process that no kill of a run may reach.
func decoy(t *testing.T, uid int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, Setpgid: true}
	if uid == os.Getuid() {
		cmd.SysProcAttr.Credential = nil
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if state := status(cmd.Process.Pid, "State"); !strings.HasPrefix(state, "S") {
			t.Errorf("the decoy is %q", state)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// TestKillsLeaveNothing kills one party of a run in flight and looks for what
// is left once the next monitor has swept.
func TestKillsLeaveNothing(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		for _, victim := range []string{"front", "monitor", "script", "init"} {
			t.Run(victim, func(t *testing.T) {
				decoy(t, uid)
				mark := victim + "-" + itoa(uid) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
				s := serve(t, options{uid: uid})
				req := s.script("node", orphans+"setInterval(() => {}, 1000)", mark)
				ended := make(chan error, 1)
				var out runner.Outcome
				go func() {
					var err error
					out, err = s.Run(within(t), req, nil, nil)
					ended <- err
				}()
				until(t, "only the script and its grandchild run", func() bool {
					pids := commands(mark)
					for _, p := range pids {
						if n, _ := strconv.Atoi(p); strings.Contains(cmdline(n), "unref") {
							return false // the process between them
						}
					}
					return len(pids) == 2
				})
				kill(t, s, victim, mark)
				err := <-ended
				if (err != nil) != (victim == "front" || victim == "monitor") {
					t.Errorf("the call ended with %v", err)
				}
				if err == nil && (out.Verdict != report.Signaled || out.Signal != "SIGKILL") {
					t.Errorf("%s %s", out.Verdict, out.Signal)
				}
				until(t, "nothing of the run lives", func() bool { return len(commands(mark)) == 0 })
				if victim == "monitor" || victim == "front" {
					_ = s.cmd.Wait()
				}
				next := serve(t, options{uid: uid})
				if out := next.run(next.script("true", "")); out.Verdict != report.Exited {
					t.Errorf("the next run: %+v", out.Result)
				}
				_ = s.Close()
				_ = s.cmd.Wait()
				if left := tracesOf(s.cmd.Process.Pid); left != (traces{}) {
					t.Errorf("left: %+v; swept: %v", left, next.ready.Notes)
				}
			})
		}
	})
}

// kill ends one party without warning.
func kill(t *testing.T, s *server, victim, mark string) {
	t.Helper()
	pids := commands(mark)
	leader, _ := strconv.Atoi(pids[0])
	for _, p := range slices.Backward(pids) { // the script is the first that has its path: a fork has it too, until its execve
		if n, _ := strconv.Atoi(p); strings.Contains(cmdline(n), "run.cjs") {
			leader = n
		}
	}
	switch victim {
	case "front":
		_ = s.Close()
		return
	case "monitor":
		leader = s.cmd.Process.Pid
	case "init":
		if parent, _ := strconv.Atoi(status(leader, "PPid")); parent != s.cmd.Process.Pid {
			leader = parent
		}
	}
	if err := syscall.Kill(leader, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func cmdline(pid int) string {
	text, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
	return string(text)
}

// TestNoSentinelIsFound looks through everything a script can look at for a
// variable that it was not given.
func TestNoSentinelIsFound(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		sentinel := "sentinel-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		s := serve(t, options{uid: uid, env: []string{"SECRET=" + sentinel, "TOKEN=given-" + sentinel[:8]}})
		req := s.script("node", `
const fs = require('fs');
// The name is put together here, so that this text is no hit itself.
const want = process.argv[2].split('').reverse().join('');
const hits = [], try_ = (name, f) => { try { if (f().includes(want)) hits.push(name); } catch {} };
for (const pid of fs.readdirSync('/proc').filter(d => /^\d+$/.test(d))) {
  for (const f of ['environ', 'cmdline', 'status', 'maps', 'auxv', 'comm']) try_(pid + '/' + f, () => fs.readFileSync('/proc/' + pid + '/' + f, 'latin1'));
  try { for (const fd of fs.readdirSync('/proc/' + pid + '/fd')) try_(pid + '/fd/' + fd, () => {
      const p = '/proc/' + pid + '/fd/' + fd; return fs.statSync(p).isFile() ? fs.readFileSync(p, 'latin1') : ''; }); } catch {}
  if (+pid === process.pid) continue;
  try_(pid + '/mem', () => {
    const fd = fs.openSync('/proc/' + pid + '/mem', 'r');
    for (const l of fs.readFileSync('/proc/' + pid + '/maps', 'latin1').split('\n')) {
      const m = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(l);
      if (!m || parseInt(m[2], 16) - parseInt(m[1], 16) > 2 ** 28) continue;
      const b = Buffer.alloc(parseInt(m[2], 16) - parseInt(m[1], 16));
      try { fs.readSync(fd, b, 0, b.length, BigInt('0x' + m[1])); } catch { continue; }
      if (b.includes(want)) return want;
    }
    return '';
  });
}
console.log(JSON.stringify({hits, token: process.env.TOKEN, pids: fs.readdirSync('/proc').filter(d => /^\d+$/.test(d)).length}));`, reverse(sentinel))
		req.Env = []string{"TOKEN"}
		control := req
		control.Env = []string{"SECRET"}
		if out := s.run(control); !strings.Contains(string(out.Stdout), "/environ\"") {
			t.Fatalf("the search finds nothing where there is something: %s%s", out.Stdout, out.Stderr)
		}
		out := s.run(req)
		if !strings.Contains(string(out.Stdout), `"hits":[]`) || !strings.Contains(string(out.Stdout), `"token":"given-sentinel"`) {
			t.Errorf("%s%s", out.Stdout, out.Stderr)
		}
	})
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
