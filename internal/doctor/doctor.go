package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/launch"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// Skill is the name of the probe skill, and Small that of its twin with limits
// that are quick to reach.
const (
	Skill = "skill-mcp-doctor"
	Small = "skill-mcp-doctor-small"
)

// small are the twin's limits: a little above the floors, so that each is
// reached within a second and node still starts.
func small() policy.Limits {
	return policy.Limits{MemoryBytes: 160 << 20, Pids: 64, CPUPercent: 40, TmpBytes: 8 << 20}
}

// readyWait bounds the helper's first word: it probes the machine first.
const readyWait = 20 * time.Second

// Run examines this machine under the policy that look chooses. An error means
// that the policy or the helper could not be used at all.
func Run(ctx context.Context, look grant.Lookup) (Report, error) {
	front, boot, err := launch.Assemble(look, launch.Options{})
	if err != nil {
		return Report{}, err
	}
	m, err := NewMachine()
	if err != nil {
		return Report{}, err
	}
	defer m.Close()
	boot.Roots, boot.Grants, boot.DataDir = []string{m.Root}, grant.Grants{From: grant.FromDeclaration}, ""
	boot.Policy.Skills = append(append([]policy.Skill{}, boot.Policy.Skills...), policy.Skill{Name: Small, Limits: small().Min(boot.Policy.LimitsFor(""))})
	r := Report{
		Policy: front.Policy.Name, Network: string(front.Policy.NetworkFor(Skill)),
		System: runtime.GOOS + "/" + runtime.GOARCH, User: fmt.Sprintf("uid %d", os.Getuid()), Notes: []string{},
	}
	s, err := open(ctx, m, boot)
	if err != nil {
		return r, err
	}
	defer s.close()
	r.Interpreters = s.ready.Interpreters
	r.examine(ctx, s)
	return r, nil
}

// examine runs the probes and judges them; where they cannot run, the helper's
// own report is all there is, and nothing is proved.
func (r *Report) examine(ctx context.Context, s *session) {
	said := s.ready.Fence
	var f facts
	if node := interpreter(s.ready.Interpreters, "node"); node != "" {
		r.note("the probes need node: %s; what follows is the helper's own report", node)
	} else if got, err := s.probe(ctx); err != nil {
		r.note("the probes did not run: %s", explain(err))
	} else {
		f, r.Ran, said = got, true, got.self.Fence
	}
	if runtime.GOOS != "linux" {
		r.note("the fence needs Linux: on %s a script has an exact environment, a deadline and bounded output, and nothing else holds it", runtime.GOOS)
	}
	for _, l := range report.Layers() {
		row := said.Row(l)
		if row.Layer == "" {
			row = report.Row{Layer: l, Want: report.Require, Got: report.Absent, Reason: "the helper does not report it"}
		}
		found := finding{state: stateNotTried}
		if r.Ran {
			found = judge(l, f)
		}
		r.Layers = append(r.Layers, merge(row, found))
	}
	r.Proved = r.Ran && proved(r.Layers)
}

// note adds a sentence for the owner.
func (r *Report) note(format string, a ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, a...)) }

// interpreter returns why an interpreter cannot run, "" when it can.
func interpreter(list []wire.Interpreter, name string) string {
	for _, i := range list {
		if i.Name == name {
			return i.Reason
		}
	}
	return "the policy does not have it"
}

// explain gives the reason of a refusal with its hint.
func explain(err error) string {
	var no *runner.RefusedError
	if errors.As(err, &no) && no.Hint != "" {
		return no.Message + " (" + no.Hint + ")"
	}
	return err.Error()
}

// session is one helper, started as the server starts it.
type session struct {
	m      *Machine
	runner *runner.Runner
	ready  wire.Ready
	helper *os.Process
	boot   wire.Boot
}

// open starts the helper with the environment and a sentinel in it.
func open(ctx context.Context, m *Machine, boot wire.Boot) (*session, error) {
	env := append(os.Environ(), "SKILL_MCP_DOCTOR="+m.Sentinel)
	var conn io.ReadWriteCloser
	conn, helper, err := launch.StartMonitor(boot, env)
	if err != nil {
		return nil, err
	}
	s := &session{m: m, runner: runner.New(conn), helper: helper, boot: boot}
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if s.ready, err = s.runner.Ready(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// endWait is how long the helper may take to end what runs and itself.
const endWait = 10 * time.Second

// close ends the helper and waits for it.
func (s *session) close() {
	s.runner.Close()
	late := time.AfterFunc(endWait, func() { s.helper.Kill() })
	defer late.Stop()
	s.helper.Wait()
}
