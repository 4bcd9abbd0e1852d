package mcpserver

import (
	"fmt"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/runner"
)

// note writes an entry of the audit about p. Only an approval must be in it
// before anything happens; for the rest a failure is said in the log.
func (s *Server) note(p *planned, e audit.Entry) {
	e.Skill, e.Script, e.Rail, e.Digest, e.Args = p.skill.Name, p.script.Path, p.rail, p.will.Digest, len(p.will.Argv)-1
	s.noted(s.deps.Audit.Add(e))
}

// noteRefused writes that a call did not get as far as a plan.
func (s *Server) noteRefused(in runInput, reason error) {
	s.noted(s.deps.Audit.Add(audit.Entry{Event: audit.Refusal, Skill: in.name, Script: in.script, Args: len(in.args), Reason: redact(reason.Error())}))
}

func (s *Server) noted(err error) {
	if err != nil && s.deps.Log != nil {
		s.deps.Log.Error("the audit has a gap", "error", err)
	}
}

// noteApproval writes that an approval was used up. Where an owner wants an
// audit, nothing runs without one.
func (s *Server) noteApproval(p *planned) error {
	err := s.deps.Audit.Add(audit.Entry{
		Event: audit.Approval, Skill: p.skill.Name, Script: p.script.Path, Rail: p.rail, Digest: p.will.Digest, Args: len(p.will.Argv) - 1,
	})
	if err != nil {
		return fmt.Errorf("nothing ran, because it could not be recorded: %w", err)
	}
	return nil
}

// noteRun writes how a run ended.
func (s *Server) noteRun(p *planned, out runner.Outcome) {
	s.note(p, audit.Entry{
		Event: audit.Run, Verdict: string(out.Verdict), ExitCode: out.ExitCode, Signal: out.Signal, DurationMs: out.DurationMs,
		PeakMemoryBytes: out.Evidence.PeakMemoryBytes,
	})
}
