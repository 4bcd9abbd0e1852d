package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/launch"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

const (
	// syntaxWait is how long node may take to parse one file; it needs 0.1 s.
	syntaxWait = 20 * time.Second
	// readyWait bounds the helper's first word: it probes the machine first.
	readyWait = 20 * time.Second
	// endWait is how long the helper may take to end itself.
	endWait = 10 * time.Second
)

// Fence is a [Checker] that runs `node --check` inside the fence, through a
// helper of its own. The helper starts with the first question.
type Fence struct {
	boot    wire.Boot
	started bool
	closed  string // why nothing can be asked; "" when it can
	runner  *runner.Runner
	helper  *os.Process
}

// NewFence makes a Fence for the directories dirs, under the owner's policy
// with one change: node gets --check before the script, so that it parses and
// runs nothing.
func NewFence(p policy.Policy, dirs []string, version string) *Fence {
	return &Fence{boot: wire.Boot{
		Policy: forSyntax(p), Grants: grant.Grants{From: grant.FromDeclaration}, Roots: dirs, FrontUID: -1, Version: version,
	}}
}

// Closed is a Fence that answers every question with reason.
func Closed(reason string) *Fence { return &Fence{started: true, closed: reason} }

// forSyntax is a copy of the owner's policy for `node --check`.
func forSyntax(p policy.Policy) policy.Policy {
	p.Interpreters = slices.Clone(p.Interpreters)
	for i := range p.Interpreters {
		if p.Interpreters[i].Name == "node" {
			p.Interpreters[i].Args = append(slices.Clone(p.Interpreters[i].Args), "--check")
		}
	}
	p.DisabledSkills = nil // what is not run may be parsed all the same
	return p
}

// environment is what the helper gets of the caller's: where programs are.
// Nothing that it starts here needs more.
func environment() []string {
	env := []string{"LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "HOME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// open starts the helper, once.
func (f *Fence) open(ctx context.Context) {
	if f.started {
		return
	}
	f.started = true
	conn, helper, err := launch.StartMonitor(f.boot, environment())
	if err != nil {
		f.closed = err.Error()
		return
	}
	f.runner, f.helper = runner.New(conn), helper
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	ready, err := f.runner.Ready(ctx)
	if err != nil {
		f.closed = err.Error()
		return
	}
	f.closed = unfit(ready)
}

// unfit says why a helper may not be handed scripts of strangers, "" if it may.
func unfit(r wire.Ready) string {
	if row := r.Fence.Row(report.LandlockFS); row.Got != report.Enforced {
		return fmt.Sprintf("there is no fence around files here (%s: %s)", report.LandlockFS, orUnknown(row.Reason))
	}
	for _, i := range r.Interpreters {
		if i.Name == "node" {
			return i.Reason
		}
	}
	return "the policy has no node"
}

func orUnknown(reason string) string {
	if reason == "" {
		return "not in place"
	}
	return reason
}

// Syntax implements [Checker].
func (f *Fence) Syntax(ctx context.Context, root int, s *catalog.Skill, script string) (said, reason string) {
	f.open(ctx)
	if f.closed != "" {
		return "", f.closed
	}
	sum, err := s.ScriptDigest(ctx, script)
	if err != nil {
		return "", err.Error()
	}
	out, err := f.runner.Run(ctx, wire.Request{
		Root: root, Dir: s.Rel, Skill: s.Name, Script: script, Args: []string{}, Interpreter: "node",
		Env: []string{}, Hosts: []string{}, TimeoutMs: syntaxWait.Milliseconds(), ScriptSHA256: sum, BundleSHA256: sum,
	}, nil, nil)
	if err != nil {
		if errors.Is(err, runner.ErrMonitor) {
			f.closed = err.Error()
		}
		return "", err.Error()
	}
	switch {
	case out.ExitCode == nil || out.Verdict != report.Exited:
		return "", fmt.Sprintf("node was ended: %s", out.Verdict)
	case *out.ExitCode == 0:
		return "", ""
	}
	said = runner.Text(out.Stderr, out.StderrTruncated)
	if said == "" {
		return "", fmt.Sprintf("node ended with %d and said nothing", *out.ExitCode)
	}
	return said, ""
}

// Close ends the helper and waits for it.
func (f *Fence) Close() {
	if f.helper == nil {
		return
	}
	f.runner.Close()
	late := time.AfterFunc(endWait, func() { _ = f.helper.Kill() })
	defer late.Stop()
	_, _ = f.helper.Wait()
}
