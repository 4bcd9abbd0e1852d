//go:build unix

package plain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
)

const patience = 20 * time.Second

// start runs a shell script and gives what it writes.
func start(t *testing.T, text string, change func(*spawn.Spec)) (*Run, *os.File) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "run.sh")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	defer w.Close()
	s := spawn.Spec{
		SkillPath: dir, ScriptPath: script, Exec: spawn.Program{Path: "/bin/sh"}, Args: []string{"a b"},
		Env: []string{"HOME=/root", "MCPORTER_CONFIG=", "TMPDIR=/tmp", "X=1"}, Config: []byte("{}"), Stdout: w, Stderr: w,
	}
	if change != nil {
		change(&s)
	}
	run, err := Host{}.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(patience))
	return run, r
}

func end(t *testing.T, r *Run) {
	t.Helper()
	if left := r.Kill(patience); left != nil {
		t.Error(left)
	}
	<-r.Done()
	if left := r.Close(); left != nil {
		t.Error(left)
	}
	if _, err := os.Stat(r.tmp); !os.IsNotExist(err) {
		t.Errorf("the private directory: %v", err)
	}
}

func TestARunGetsItsEnvironmentAndEnds(t *testing.T) {
	r, out := start(t, `cat; echo "$1|$X|$(pwd)|$TMPDIR|$HOME|$(cat "$MCPORTER_CONFIG")"; exit 7`, nil)
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	if got := r.Leader(); got != (spawn.Exit{Code: 7}) {
		t.Errorf("%+v", got)
	}
	f := strings.Split(strings.TrimSpace(string(buf[:n])), "|")
	if len(f) != 6 || f[0] != "a b" || f[1] != "1" || f[2] != r.cmd.Dir || f[3] != r.tmp || f[4] != filepath.Join(r.tmp, "home") || f[5] != "{}" {
		t.Errorf("%q", f)
	}
	if !slices.Equal(r.EnvNames(), []string{"HOME", "MCPORTER_CONFIG", "TMPDIR", "X"}) {
		t.Error(r.EnvNames())
	}
	end(t, r)
}

func TestTheGroupEndsWithTheRun(t *testing.T) {
	r, out := start(t, "(trap '' TERM; echo $$; while :; do sleep 1; done) & wait", nil)
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	r.Terminate()
	<-r.Done()
	if got := r.Leader(); got.Signal != "SIGTERM" {
		t.Errorf("%+v", got)
	}
	group := r.Pid()
	end(t, r)
	for deadline := time.Now().Add(patience); unix.Kill(-group, 0) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the group lives")
		}
		time.Sleep(time.Millisecond) // polled: nothing announces the end of another's child
	}
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	_, err := Host{}.Start(spawn.Spec{SkillPath: t.TempDir(), Exec: spawn.Program{Path: "/nonexistent/sh"}})
	var setup *spawn.SetupError
	if e, ok := err.(*spawn.SetupError); !ok || e.Stage != "execve" || e.Errno == "" {
		t.Errorf("%v %v", err, setup)
	}
}

func TestTheReportClaimsLittle(t *testing.T) {
	p := policy.Policy{Name: "p", Layers: []policy.Layer{{Layer: report.Seccomp, Want: report.Off}}}
	f := Host{}.Report(p, policy.NetNone)
	if len(f.Layers) != len(report.Layers()) || f.Row(report.ProcessGroup).Got != report.Enforced || f.Row(report.LandlockFS).Got != report.Absent || f.Row(report.LandlockFS).Reason == "" {
		t.Errorf("%+v", f)
	}
}
