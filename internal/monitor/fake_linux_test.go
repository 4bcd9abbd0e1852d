package monitor

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skill-mcp/internal/beneath"
	"skill-mcp/internal/environ"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/interp"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/tun"
	"skill-mcp/internal/wire"
)

// stuck is a host whose runs do as the test says.
type stuck struct {
	fail error // of Start
	run  *stuckRun
}

func (h *stuck) Report(p policy.Policy, n policy.Network) report.Fence {
	return report.Fence{Policy: p.Name, Network: string(n), Layers: []report.Row{{Layer: report.Seccomp, Want: report.Require, Got: report.Enforced}}}
}
func (h *stuck) Sweep() []string { return nil }
func (h *stuck) Spare(int)       {}
func (h *stuck) Close() error    { return nil }
func (h *stuck) Start(spawn.Spec) (run, error) {
	if h.fail != nil {
		return nil, h.fail
	}
	return h.run, nil
}

// stuckRun ends when done is closed and is killed when kills has come to zero.
type stuckRun struct {
	done   chan struct{}
	leader spawn.Exit
	usage  spawn.Usage
	kills  atomic.Int64
	closes time.Duration
}

func (r *stuckRun) Pid() int               { return 7 }
func (r *stuckRun) Fence() report.Fence    { return report.Fence{} }
func (r *stuckRun) EnvNames() []string     { return []string{} }
func (r *stuckRun) Terminate()             {}
func (r *stuckRun) Done() <-chan struct{}  { return r.done }
func (r *stuckRun) Over() report.Verdict   { return "" }
func (r *stuckRun) Leader() spawn.Exit     { return r.leader }
func (r *stuckRun) Usage() spawn.Usage     { return r.usage }
func (r *stuckRun) Device() *tun.Device    { return nil }
func (r *stuckRun) Next()                  {}
func (r *stuckRun) Close() (left []string) { time.Sleep(r.closes); return nil } // a slow disk
func (r *stuckRun) Kill(d time.Duration) []report.Survivor {
	if r.kills.Add(-1) < 0 {
		return nil
	}
	time.Sleep(d / 20) // a process that does not go, scaled down
	return []report.Survivor{{Pid: 7, State: "D"}}
}

// onHost serves a monitor on a host that the test made.
func onHost(t *testing.T, h host) *server {
	t.Helper()
	root, err := beneath.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	m := &monitor{
		boot: wire.Boot{Policy: testPolicy(), Grants: grant.Grants{From: grant.FromDeclaration}}, env: environ.Environ{"PATH": "/usr/bin:/bin"},
		scrub: wire.Scrub{State: environ.Scrubbed}, roots: []beneath.Place{root}, host: h, fences: map[policy.Network]report.Fence{},
		conn: wire.NewConn(wire.Monitor, theirs), frames: make(chan frame),
	}
	i := interp.New(policy.Interpreter{Name: "true"}, "/usr/bin:/bin", nil)
	i.Ask(func(int) {})
	m.interps = []*interp.Interpreter{i}
	served := make(chan error, 1)
	go func() {
		if _, _, err := m.conn.Receive(); err != nil {
			served <- gone(err)
			return
		}
		if err := m.hello(); err != nil {
			served <- err
			return
		}
		go receive(m.conn, m.frames)
		served <- m.serve()
	}()
	s := &server{Runner: runner.New(ours), t: t, root: root.Path}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		root.Close()
	})
	return s
}

func TestAResultComesInTimeWhateverTheTreeDoes(t *testing.T) {
	r := &stuckRun{done: make(chan struct{})}
	r.kills.Store(1 << 40)
	s := onHost(t, &stuck{run: r})
	req := s.script("true", "")
	req.TimeoutMs = 100
	begin := time.Now()
	out := s.run(req)
	if took := time.Since(begin); took > 100*time.Millisecond+5250*time.Millisecond {
		t.Errorf("after %v", took)
	}
	if out.Verdict != report.KillIncomplete || !out.TimedOut || out.ExitCode != nil || len(out.Evidence.Survivors) != 1 || len(out.Evidence.Leftovers) != 1 {
		t.Errorf("%+v", out.Result)
	}
	var refused *runner.RefusedError
	if _, err := s.Run(within(t), req, nil, nil); !errors.As(err, &refused) || refused.Code != wire.CodeBusy {
		t.Errorf("a second tree beside the first: %v", err)
	}
	r.kills.Store(0)
	close(r.done)
	until(t, "the leftover is gone", func() bool {
		_, err := s.Run(within(t), req, nil, nil)
		return err == nil
	})
}

func TestASlowTearDownDoesNotHoldTheResult(t *testing.T) {
	r := &stuckRun{done: make(chan struct{}), closes: 3 * time.Second}
	close(r.done)
	s := onHost(t, &stuck{run: r})
	begin := time.Now()
	out := s.run(s.script("true", ""))
	if took := time.Since(begin); took > 2*time.Second || len(out.Evidence.Leftovers) != 1 {
		t.Errorf("after %v: %+v", took, out.Result)
	}
}

func TestASetUpThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		fail    error
		code    string // of the refusal, "" = a result
		verdict report.Verdict
	}{
		"a step of a required layer": {&spawn.SetupError{Stage: "seccomp", Layer: report.Seccomp, Errno: "EPERM"}, wire.CodeFence, ""},
		"a step of no layer":         {&spawn.SetupError{Stage: "clone", Errno: "EAGAIN"}, "", report.SetupFailed},
		"the execve":                 {&spawn.SetupError{Stage: "execve", Errno: "EACCES"}, "", report.DeniedExec},
		"an error that is no step":   {os.ErrDeadlineExceeded, wire.CodeSetup, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := onHost(t, &stuck{fail: c.fail})
			out, err := s.Run(within(t), s.script("true", ""), nil, nil)
			var refused *runner.RefusedError
			if errors.As(err, &refused) != (c.code != "") || (refused != nil && refused.Code != c.code) {
				t.Fatalf("%v", err)
			}
			if refused != nil && !strings.Contains(refused.Message, c.fail.Error()) {
				t.Errorf("refused without the cause: %s", refused.Message)
			}
			if c.code == "" && (out.Verdict != c.verdict || out.ExitCode != nil || out.Evidence.SetupStage == "" || out.Evidence.SetupErrno == "") {
				t.Errorf("%+v", out.Result)
			}
		})
	}
}

func TestCountersReachTheResult(t *testing.T) {
	r := &stuckRun{done: make(chan struct{}), leader: spawn.Exit{Signal: "SIGKILL"}, usage: spawn.Usage{
		CPU: 3 * time.Millisecond, PeakMemory: 5, PeakPids: 6, OOMKills: 1, LeaderOOM: true,
	}}
	close(r.done)
	s := onHost(t, &stuck{run: r})
	out := s.run(s.script("true", ""))
	e := out.Evidence
	if out.Verdict != report.OOMCgroup || out.Signal != "SIGKILL" || e.CPUMs != 3 || e.PeakMemoryBytes != 5 || e.PeakPids != 6 || e.OOMKills != 1 {
		t.Errorf("%+v", out.Result)
	}
}
