package monitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// restless is a script with a child of its own, both waiting, deaf to SIGTERM.
const restless = `trap '' TERM; echo up; (trap '' TERM; read -t 20 <> <(:)) & read -t 20 <> <(:)`

// soakSize is how many servers the soak has at once and how many runs each
// makes. SKILL_MCP_SOAK gives another number of runs, for eight servers.
func soakSize() (servers, runs int) {
	if n, err := strconv.Atoi(os.Getenv("SKILL_MCP_SOAK")); err == nil {
		return 8, n
	}
	return 4, 12
}

// TestServersUnderRandomKills lets several servers run at once and ends a
// random party of each run at a random moment. Every call gets an answer in
// time, and when all is over the next start's sweep leaves nothing. It takes
// some seconds, since it is the order of events that is looked for.
func TestServersUnderRandomKills(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		decoy(t, uid)
		mark := "soak-" + itoa(uid) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		var servers sync.WaitGroup
		many, runs := soakSize()
		keys, mounts := keyrings(), mounted()
		started := make(chan named, many*(runs+1))
		var tally ledger
		for range many {
			servers.Go(func() { soak(t, uid, runs, mark, started, &tally) })
		}
		servers.Wait()
		close(started)
		t.Logf("%v", tally.count)
		last := serve(t, options{uid: uid})
		until(t, "nothing of any run lives", func() bool { return len(commands(mark)) == 0 })
		until(t, "no child outlives its monitor", func() bool { return len(deserted()) == 0 })
		until(t, "no mount of a run is left", func() bool { return mounted() <= mounts })
		if os.Getenv("SKILL_MCP_SOAK") != "" { // other suites may run beside this one in the gate
			until(t, "no keyring is left but that of the child that waits", func() bool { return keyrings() <= keys+2 })
		}
		for m := range started {
			if left := m.left(); len(left) > 0 {
				t.Errorf("monitor %d left %v; swept %v", m.pid, left, last.ready.Notes)
			}
		}
	})
}

// deserted are the children, waiting or not, whose monitor is gone.
func deserted() (pids []string) {
	for _, p := range commands("skill-exec\x00child") {
		if pid, _ := strconv.Atoi(p); status(pid, "PPid") == "1" {
			pids = append(pids, p)
		}
	}
	return pids
}

// ledger counts what happened, so that a soak in which nothing was struck shows.
type ledger struct {
	sync.Mutex
	count map[string]int
}

func (l *ledger) add(what string) {
	l.Lock()
	defer l.Unlock()
	if l.count == nil {
		l.count = map[string]int{}
	}
	l.count[what]++
}

// named is a monitor by what no other process of this boot has: in a long soak
// its pid is given to others.
type named struct {
	pid   int
	ticks string
}

func nameOf(pid int) named {
	text, _ := os.ReadFile("/proc/" + itoa(pid) + "/stat") // "" when it is gone
	_, rest, _ := strings.Cut(string(text), ") ")
	if f := strings.Fields(rest); len(f) > 19 {
		return named{pid, f[19]}
	}
	return named{pid, ""}
}

// left lists what a monitor that has ended still has: directories, groups, and
// the lock of its runs' uid.
func (m named) left() []string {
	pattern := "skill-mcp-*-" + itoa(m.pid) + "-" + m.ticks + "-*"
	out, _ := filepath.Glob("/tmp/" + pattern)
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); err == nil && ok {
			out = append(out, path)
		}
		return nil // a group that ends meanwhile is none
	})
	if nameOf(m.pid).ticks != "" { // the pid is somebody else's now, and so may be its locks
		return out
	}
	locks, _ := os.ReadFile("/proc/locks")
	for _, l := range strings.Split(string(locks), "\n") {
		if f := strings.Fields(l); len(f) > 4 && f[1] == "FLOCK" && f[4] == itoa(m.pid) {
			out = append(out, l)
		}
	}
	return out
}

// keyrings counts the keys of the uids that runs have as root. The kernel
// collects them a moment after their last process.
func keyrings() (n int) {
	text, _ := os.ReadFile("/proc/key-users") // not there: no keyrings
	for _, l := range strings.Split(string(text), "\n") {
		var uid, used, keys int
		if got, _ := fmt.Sscanf(l, "%d: %d %d/", &uid, &used, &keys); got == 3 && uid >= 60800 && uid < 61056 {
			n += keys
		}
	}
	return n
}

// mounted counts the mounts of this namespace that show something of these tests.
func mounted() int {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	return strings.Count(string(text), base)
}

// soak makes the runs of one server, which is started again when it was killed.
func soak(t *testing.T, uid, runs int, mark string, started chan<- named, tally *ledger) {
	var s *server
	for range runs {
		if s == nil {
			if s = start(t, uid); s == nil {
				return
			}
			started <- nameOf(s.cmd.Process.Pid)
			tally.add("servers")
		}
		if !endOne(t, s, mark+"-"+itoa(s.cmd.Process.Pid), tally) {
			_ = s.Close()
			_ = s.cmd.Wait()
			s = nil
		}
	}
	if s != nil {
		_ = s.Close()
		_ = s.cmd.Wait()
	}
}

// start is serve for a goroutine of its own.
func start(t *testing.T, uid int) *server {
	cmd, sock, root := startHelper(t, options{uid: uid})
	s := &server{Runner: runner.New(sock), t: t, cmd: cmd, root: root}
	if _, err := s.Ready(within(t)); err != nil {
		t.Errorf("start: %v", err)
		return nil
	}
	return s
}

// endOne makes one run, ends a party of it after a while, and reports whether
// the server can go on.
func endOne(t *testing.T, s *server, mark string, tally *ledger) bool {
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	victim := []string{"nobody", "cancel", "front", "monitor", "script", "init", "child"}[rand.IntN(7)]
	tally.add(victim)
	go func() {
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond) // the moment is what is random here
		if victim == "cancel" {
			cancel()
		} else if victim != "nobody" {
			strike(s, victim, mark)
		}
	}()
	req := s.script("bash", restless, mark)
	if req.TimeoutMs = 200; victim == "nobody" {
		req = s.script("true", "", mark)
	}
	var busy *runner.RefusedError
	begin := time.Now()
	out, err := s.Run(ctx, req, nil, nil)
	tally.add(answer(out, err))
	if took := time.Since(begin); took > 200*time.Millisecond+5250*time.Millisecond+5*time.Second { // and a busy machine
		t.Errorf("%s: answered after %v", victim, took)
	}
	switch {
	case errors.Is(err, runner.ErrMonitor):
		if victim != "front" && victim != "monitor" {
			t.Errorf("%s: %v", victim, err)
		}
		return false
	case errors.Is(err, context.Canceled): // before it was sent
	case errors.As(err, &busy) && busy.Code == wire.CodeBusy:
		t.Log(err)
	case err != nil:
		t.Errorf("%s: %v", victim, err)
	case out.Verdict == report.KillIncomplete && len(out.Evidence.Survivors) > 0:
		t.Logf("the kernel kept %v for a while", out.Evidence.Survivors) // looked for again at the end
	case out.Verdict == report.KillIncomplete || len(out.Evidence.Leftovers) > 0:
		t.Errorf("%s: %s %+v", victim, out.Verdict, out.Evidence)
	}
	return true
}

// strike ends a party as it finds it; the run may have ended meanwhile.
func strike(s *server, victim, mark string) {
	switch victim {
	case "front":
		_ = s.Close()
		return
	case "monitor":
		_ = s.cmd.Process.Kill()
		return
	case "child": // between its birth and the script, or the one that waits for the next run
		for _, p := range commands("skill-exec\x00child") {
			pid, _ := strconv.Atoi(p)
			if below(pid, s.cmd.Process.Pid) && rand.IntN(2) == 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return
	}
	for _, p := range commands(mark) {
		pid, _ := strconv.Atoi(p)
		if !strings.Contains(cmdline(pid), "run.cjs") {
			continue
		}
		parent, _ := strconv.Atoi(status(pid, "PPid"))
		if victim == "init" && strings.Contains(cmdline(parent), "skill-exec") && parent != s.cmd.Process.Pid {
			pid = parent
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// below reports whether a process descends from another.
func below(pid, ancestor int) bool {
	for depth := 0; pid > 1 && depth < 4; depth++ {
		if pid, _ = strconv.Atoi(status(pid, "PPid")); pid == ancestor {
			return true
		}
	}
	return false
}

// answer names what a call came back with.
func answer(out runner.Outcome, err error) string {
	var refused *runner.RefusedError
	switch {
	case errors.As(err, &refused):
		return "refused: " + refused.Code
	case errors.Is(err, runner.ErrMonitor):
		return "ended: the monitor is gone"
	case err != nil:
		return "error"
	}
	return "verdict " + string(out.Verdict)
}
