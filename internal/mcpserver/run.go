package mcpserver

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/rpc"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// ran is skill_run's answer; the order of the fields is the contract's.
type ran struct {
	Skill       string          `json:"skill"`
	Script      string          `json:"script"`
	Interpreter string          `json:"interpreter"`
	ExitCode    *int            `json:"exitCode"`
	Signal      *string         `json:"signal"`
	Stdout      string          `json:"stdout"`
	Stderr      string          `json:"stderr"`
	Truncated   ranTruncated    `json:"truncated"`
	TimedOut    bool            `json:"timedOut"`
	TimeoutMs   int64           `json:"timeoutMs"`
	DurationMs  int64           `json:"durationMs"`
	Env         []string        `json:"env"`
	NetworkNote string          `json:"networkNote,omitempty"`
	OutputNote  string          `json:"outputNote,omitempty"` // what was left out to fit a message
	Verdict     report.Verdict  `json:"verdict"`
	Evidence    report.Evidence `json:"evidence"`
	Fence       report.Fence    `json:"fence"`
}

type ranTruncated struct {
	Stdout bool `json:"stdout"`
	Stderr bool `json:"stderr"`
}

// handleRun answers skill_run: plan, approval, run.
func (s *Server) handleRun(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in, err := readRun(r)
	if err != nil {
		return invalid(toolRun, err), nil
	}
	p, err := s.plan(ctx, s.now(), in)
	if err != nil {
		s.noteRefused(in, err)
		return failed(err), nil
	}
	approval, answer, err := s.approve(ctx, r, in, p)
	if err != nil {
		return failed(err), nil
	}
	if answer != nil {
		return answer, nil
	}
	return s.execute(ctx, p, approval)
}

// execute runs what was approved. The place of the one run is taken before the
// approval is spent, so that a refusal for being busy costs no approval.
func (s *Server) execute(ctx context.Context, p *planned, a confirm.Approval) (*mcp.CallToolResult, error) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		s.note(p, audit.Entry{Event: audit.Refusal, Reason: wire.CodeBusy})
		return failed(runner.Busy()), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run the script: %w", err)
	}
	if err := s.deps.Gate.Spend(a); err != nil {
		return s.rejected(err, p, false)
	}
	if err := s.noteApproval(p); err != nil {
		return failed(err), nil
	}
	call := rpc.FromContext(ctx)
	call.Log(mcp.LoggingLevelInfo, "skill-mcp", map[string]any{"event": "run", "skill": p.skill.Name, "script": p.script.Path})
	var latest atomic.Pointer[wire.Progress]
	stop := call.Heartbeat(func() string { return progressLine(latest.Load()) })
	var sent time.Time
	out, err := s.deps.Runner.Run(ctx, p.req, p.config, func(g wire.Progress) {
		latest.Store(&g)
		if time.Since(sent) >= progressEvery {
			sent = time.Now()
			call.Progress(progressLine(&g))
		}
	})
	stop()
	if err != nil {
		s.note(p, audit.Entry{Event: audit.Refusal, Reason: redact(err.Error())})
		return failed(err), nil
	}
	s.noteRun(p, out)
	call.Log(mcp.LoggingLevelInfo, "skill-mcp", map[string]any{
		"event": "ran", "skill": p.skill.Name, "script": p.script.Path, "verdict": out.Verdict, "durationMs": out.DurationMs,
	})
	done := s.ran(p, out)
	out = runner.Outcome{} // its bytes are text now, and memory is short where servers are hosted
	return ranResult(done)
}

// progressLine is what a person sees while a script runs.
func progressLine(g *wire.Progress) string {
	if g == nil {
		return "starting"
	}
	line := fmt.Sprintf("running for %d s, %d bytes so far", g.ElapsedMs/1000, g.StdoutBytes+g.StderrBytes)
	if g.LastLine != "" {
		line += ": " + cut(g.LastLine, 4*maxQuoted)
	}
	return line
}

// ran puts the answer together.
func (s *Server) ran(p *planned, out runner.Outcome) ran {
	r := ran{
		Skill: p.skill.Name, Script: p.script.Path, Interpreter: p.script.Interpreter, ExitCode: out.ExitCode,
		Stdout: runner.Text(out.Stdout, out.StdoutTruncated), Stderr: runner.Text(out.Stderr, out.StderrTruncated),
		Truncated: ranTruncated{out.StdoutTruncated, out.StderrTruncated},
		TimedOut:  out.TimedOut, TimeoutMs: out.TimeoutMs, DurationMs: out.DurationMs, Env: some(out.EnvNames),
		NetworkNote: out.NetworkNote, Verdict: out.Verdict, Evidence: out.Evidence, Fence: out.Fence,
	}
	if out.Signal != "" {
		r.Signal = &out.Signal
	}
	notZero := out.ExitCode == nil || *out.ExitCode != 0
	restricted := s.deps.Front.ProxySet || policy.Network(out.Fence.Network) != policy.NetOpen
	if r.NetworkNote == "" && (out.TimedOut || notZero) && restricted {
		r.NetworkNote = "The network of this run is restricted. A 403 from a proxy on loopback, a refused connection and a timeout " +
			"can all mean that a host is not allowed; if the script needs one, fix the egress policy of the registration."
	}
	return r
}

// ranResult encodes an answer. Two streams of 1 MiB that consist of control
// characters would be larger than a message: then the longer one is cut
// further, and the answer says so.
func ranResult(r ran) (*mcp.CallToolResult, error) {
	room := maxResult - 256<<10 // for everything that is not a stream
	if out, errs := textCost(r.Stdout), textCost(r.Stderr); out+errs > room {
		if out <= room/2 {
			r.Stderr, r.Truncated.Stderr = prefixCosting(r.Stderr, room-out), true
		} else if errs <= room/2 {
			r.Stdout, r.Truncated.Stdout = prefixCosting(r.Stdout, room-errs), true
		} else {
			r.Stdout, r.Truncated.Stdout = prefixCosting(r.Stdout, room/2), true
			r.Stderr, r.Truncated.Stderr = prefixCosting(r.Stderr, room/2), true
		}
		r.OutputNote = "the output consists of characters that grow when they are sent; less of it is shown than was kept"
	}
	fills := []rpc.Fill{{Text: r.Stdout}, {Text: r.Stderr}}
	r.Stdout, r.Stderr = "", ""
	return result(r, []string{"stdout", "stderr"}, fills)
}

// prefixCosting gives the longest start of text that takes at most room bytes
// on the wire.
func prefixCosting(text string, room int) string {
	used := 0
	for i, c := range text {
		n := textCost(text[i : i+utf8.RuneLen(c)])
		if used+n > room {
			return text[:i]
		}
		used += n
	}
	return text
}

// progressEvery is the least time between two progress lines: a person reads
// no faster. The heartbeat sees to the longest.
const progressEvery = time.Second

// readyWait bounds the wait for the helper's first word: it probes the host,
// which takes tens of milliseconds, on a busy machine seconds.
const readyWait = 30 * time.Second
