// Package plain starts a script with what every system has: a process group, an
// exact environment, a private directory. It fences nothing and says so, layer
// by layer. It stands in for package fence where that has no system to build on.
//
// Only the monitor uses it, outside Linux; its tests run everywhere.
package plain

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/tun"
)

// Host starts a script with what every system has: a process group, an
// exact environment, a private directory. It fences nothing and says so. It is
// the host where package fence has none.
type Host struct{}

// Report calls everything absent that a fence would be needed for.
func (Host) Report(p policy.Policy, n policy.Network) report.Fence {
	f := report.Fence{Policy: p.Name, Network: string(n)}
	for _, l := range report.Layers() {
		r := report.Row{
			Layer: l, Want: p.Want(l), Got: report.Absent,
			Reason: "not available on " + runtime.GOOS, Remedy: "run the server on Linux",
		}
		if l == report.ProcessGroup && groups {
			r = report.Row{Layer: l, Want: p.Want(l), Got: report.Enforced}
		}
		f.Layers = append(f.Layers, r)
	}
	return f
}

// Sweep removes the private directories of monitors that were killed: those
// that nobody changed for longer than any run lasts.
func (Host) Sweep() (notes []string) {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "skill-mcp-run-*")) // only a malformed pattern fails
	for _, d := range dirs {
		if info, err := os.Lstat(d); err == nil && info.IsDir() && time.Since(info.ModTime()) > time.Hour && os.RemoveAll(d) == nil {
			notes = append(notes, "removed "+d+", left by an earlier run")
		}
	}
	return notes
}

// Spare has nobody to spare: only the group of a run is ended.
func (Host) Spare(int) {}

// Close has nothing to give back.
func (Host) Close() error { return nil }

// Start runs the interpreter on the script.
func (h Host) Start(s spawn.Spec) (*Run, error) {
	tmp, err := os.MkdirTemp("", "skill-mcp-run-")
	if err != nil {
		return nil, setupError("tmp", err)
	}
	r := &Run{tmp: tmp, fence: h.Report(s.Policy, s.Network), done: make(chan struct{})}
	home := filepath.Join(tmp, "home")
	config := filepath.Join(tmp, "mcporter.json")
	err = os.Mkdir(home, 0o700)
	if err == nil && s.Config != nil {
		err = os.WriteFile(config, s.Config, 0o600)
	}
	if err != nil {
		r.Close()
		return nil, setupError("tmp", err)
	}
	args := append(append([]string{}, s.Exec.Args...), s.ScriptPath)
	r.cmd = exec.Command(s.Exec.Path, append(args, s.Args...)...)
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = s.SkillPath, s.Stdout, s.Stderr
	r.cmd.SysProcAttr = ownGroup()
	r.cmd.Env = []string{}
	for _, kv := range s.Env {
		name, _, _ := strings.Cut(kv, "=")
		if v, ok := map[string]string{"TMPDIR": tmp, "HOME": home, "MCPORTER_CONFIG": config}[name]; ok {
			kv = name + "=" + v
		}
		r.cmd.Env, r.names = append(r.cmd.Env, kv), append(r.names, name)
	}
	if err := r.cmd.Start(); err != nil {
		r.Close()
		return nil, setupError("execve", err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // the outcome is read from ProcessState
	}()
	return r, nil
}

// setupError tells a failed step by its name and errno.
func setupError(stage string, err error) *spawn.SetupError {
	e := &spawn.SetupError{Stage: stage, Text: err.Error()}
	var path *fs.PathError
	if errors.As(err, &path) {
		e.Errno = path.Err.Error()
	}
	return e
}

// Run is one child of a Host.
type Run struct {
	cmd   *exec.Cmd
	tmp   string
	names []string
	fence report.Fence
	done  chan struct{}
}

func (r *Run) Pid() int              { return r.cmd.Process.Pid }
func (r *Run) Fence() report.Fence   { return r.fence }
func (r *Run) EnvNames() []string    { return r.names }
func (r *Run) Terminate()            { terminateGroup(r.cmd.Process) }
func (r *Run) Device() *tun.Device   { return nil }
func (r *Run) Done() <-chan struct{} { return r.done }

// Leader gives exit code or signal.
func (r *Run) Leader() spawn.Exit { return exitOf(r.cmd.ProcessState) }

// Kill ends the group; a process that left it is out of reach here.
func (r *Run) Kill(within time.Duration) []report.Survivor {
	killGroup(r.cmd.Process)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-r.done:
		return nil
	case <-timer.C:
		return []report.Survivor{{Pid: r.Pid(), State: "?"}}
	}
}

// Usage is what the system counted for the leader and those it waited for.
func (r *Run) Usage() spawn.Usage {
	return spawn.Usage{CPU: r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()}
}

// Close removes the private directory.
func (r *Run) Close() []string {
	if err := os.RemoveAll(r.tmp); err != nil {
		return []string{r.tmp + ": " + err.Error()}
	}
	return nil
}

// Over is always "": nothing here is bounded but time and output.
func (r *Run) Over() report.Verdict { return "" }

// Next does nothing: what is started here needs no preparation.
func (r *Run) Next() {}
