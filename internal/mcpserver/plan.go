package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

// willRun is what a person approves; the order of the fields is the contract's.
type willRun struct {
	Skill       string       `json:"skill"`
	Interpreter string       `json:"interpreter"`
	Argv        []string     `json:"argv"`
	CWD         string       `json:"cwd"`
	TimeoutMs   int64        `json:"timeoutMs"`
	EnvNames    []string     `json:"envNames"`
	EnvNotSet   []string     `json:"envNotSet,omitempty"`
	EnvWarning  string       `json:"envWarning,omitempty"`
	Digest      string       `json:"digest"` // of the skill's whole bundle
	Home        string       `json:"home,omitempty"`
	Hosts       []string     `json:"hosts,omitempty"`
	Reads       []string     `json:"reads,omitempty"`
	Writes      []string     `json:"writes,omitempty"`
	Fence       report.Fence `json:"fence"`
}

// planned is one run that passed every check but the person's.
type planned struct {
	skill  *catalog.Skill
	script effective
	req    wire.Request
	config []byte
	will   willRun
	call   confirm.Call
	rail   string // how it is approved, for the audit
}

// plan makes every check of a call that does not need a person, in the order
// of the contract (5.1), and asks the helper what the run would get. It is
// made anew for every message: nothing of an earlier one is trusted.
func (s *Server) plan(ctx context.Context, v *view, in runInput) (*planned, error) {
	sk, err := v.find(in.name)
	if err != nil {
		return nil, err
	}
	ready, err := s.hello(ctx)
	if err != nil {
		return nil, refuse("instructions and files are still served", "no script can run on this server: %v", err)
	}
	if p, blocked := s.scrubBlocked(ready); blocked {
		return nil, refuse("instructions and files are still served", "no script may run on this server: %s", p.Detail)
	}
	script, err := s.allowed(v, sk, in.script, ready)
	if err != nil {
		return nil, err
	}
	if _, err := sk.Resolve(in.script); err != nil {
		return nil, err
	}
	if err := checkArgs(in.args); err != nil {
		return nil, err
	}
	mcpServers, err := v.runConfig()
	if err != nil {
		return nil, err
	}
	p := &planned{skill: sk, script: script, config: mcpServers.Config}
	p.req = wire.Request{
		Root: sk.Root, Dir: sk.Rel, Skill: sk.Name, Script: in.script, Args: in.args, Interpreter: script.Interpreter,
		Env: script.env, TimeoutMs: timeout(script.TimeoutMs), Hosts: hosts(sk.Declaration.Egress, mcpServers.Hosts), Config: len(mcpServers.Config) > 0,
	}
	if err := p.digest(ctx); err != nil {
		return nil, err
	}
	got, err := s.deps.Runner.Plan(ctx, p.req)
	if err != nil {
		return nil, err
	}
	p.show(in, got, s.deps.Front.Grants.From)
	return p, nil
}

// allowed finds the script among what is declared, granted and runnable.
func (s *Server) allowed(v *view, sk *catalog.Skill, path string, ready wire.Ready) (effective, error) {
	list := s.scripts(v, sk, ready)
	hint := mayRun(list)
	i := slices.IndexFunc(list, func(e effective) bool { return e.Path == path })
	switch {
	case i < 0:
		return effective{}, refuse(hint, "the script %s is not declared as runnable by the skill %s", quoted(path), quoted(sk.Name))
	case !list[i].granted:
		return effective{}, refuse(hint, "the script %s of the skill %s is declared but not granted for this registration: %s",
			quoted(path), quoted(sk.Name), s.ungranted(v, sk))
	case !list[i].runnable:
		return effective{}, refuse("the skill's instructions are still available (skill_load)",
			"the script %s cannot run: %s", quoted(path), list[i].reason)
	}
	return list[i], nil
}

// mayRun is the hint of a script that may not run.
func mayRun(list []effective) string {
	var names []string
	for _, e := range list {
		if e.granted && e.runnable {
			names = append(names, quoted(e.Path))
		}
	}
	if len(names) == 0 {
		return "nothing of this skill may run; its author declares scripts under mcp-host.run in SKILL.md, and the owner of this server accepts them"
	}
	return "these may run: " + cut(strings.Join(names, ", "), 4096)
}

// timeout is the request's time limit: a declared value that rounds to 0
// milliseconds means the default.
func timeout(declared int) int64 {
	if declared <= 0 {
		return catalog.DefaultTimeoutMs
	}
	return int64(declared)
}

// hosts joins what the skill declares and what its MCP servers need.
func hosts(declared, servers []string) []string {
	out := []string{}
	for _, h := range slices.Concat(declared, servers) {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// digest binds the run to the content of the skill as it is now.
func (p *planned) digest(ctx context.Context) (err error) {
	if p.req.BundleSHA256, err = p.skill.Digest(ctx); err != nil {
		return err
	}
	p.req.ScriptSHA256, err = p.skill.ScriptDigest(ctx, p.script.Path)
	return err
}

// show fills in what a person is shown, and the call that their approval is
// bound to.
func (p *planned) show(in runInput, got wire.Planned, from grant.Source) {
	p.will = willRun{
		Skill: p.skill.Name, Interpreter: p.script.Interpreter, Argv: append([]string{in.script}, in.args...),
		CWD: got.CWD, TimeoutMs: got.TimeoutMs, EnvNames: some(got.EnvNames), EnvNotSet: got.EnvNotSet,
		Digest: p.req.BundleSHA256, Home: got.Home, Hosts: got.Hosts, Reads: got.Reads, Writes: got.Writes, Fence: got.Fence,
	}
	if p.script.TimeoutMs == 0 {
		p.will.TimeoutMs = 0
	}
	if from == grant.FromDeclaration {
		p.will.EnvWarning = envWarning(p.script.env, got.EnvNames)
	}
	p.call = confirm.Call{
		Tool: toolRun, Action: "skill.run", Target: p.skill.Name + "/" + p.script.Path, Details: p.will,
		Args: map[string]any{"name": in.name, "script": in.script, "args": in.args, "scriptSha256": p.req.ScriptSHA256},
	}
}

// some is list, never nil, so that it is [] on the wire.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// envWarning names the variables whose values go out only because a skill's
// author asked for them.
func envWarning(declared, handed []string) string {
	var names []string
	for _, n := range declared {
		if slices.Contains(handed, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("The script receives the value of %s only because the skill's SKILL.md asks for it. "+
		"Set MCP_SKILL_RUN to decide yourself which scripts run and which variables they receive.", strings.Join(names, ", "))
}

// preview is the answer's part that shows what would happen.
func (p *planned) preview() confirm.Preview {
	return confirm.Preview{
		DryRun: true, WillRun: p.will,
		Note: "No process has been started. The server cannot tell what a script does: read it with skill_file before you approve it.",
	}
}

// prompt is what a person reads.
func (p *planned) prompt() confirm.Prompt {
	out := confirm.Prompt{
		Skill: p.skill.Name, Script: p.script.Path, Args: p.will.Argv[1:], Interpreter: p.will.Interpreter, Folder: p.will.CWD,
		Timeout: time.Duration(p.req.TimeoutMs) * time.Millisecond, EnvNames: p.will.EnvNames, EnvWarning: p.will.EnvWarning,
		Network: networkSentence(p.will.Fence.Network, p.will.Hosts), Reads: p.will.Reads, Writes: p.will.Writes, Home: p.will.Home,
		Action: p.call.Action, Details: p.will,
	}
	for _, r := range p.will.Fence.Layers {
		if r.Got != report.Absent && r.Got != report.Partial {
			continue
		}
		why := string(r.Layer)
		if r.Reason != "" {
			why += " (" + r.Reason + ")"
		}
		out.Missing = append(out.Missing, why)
	}
	return out
}

// networkSentence says what a run can reach.
func networkSentence(mode string, hosts []string) string {
	switch policy.Network(mode) {
	case policy.NetNone:
		return "none, only a loopback of its own"
	case policy.NetDeclared:
		if len(hosts) == 0 {
			return "none: the skill declares no host"
		}
		return "only " + strings.Join(hosts, ", ")
	case policy.NetProxy:
		return "only the TCP port of the proxy in the environment"
	case policy.NetOpen:
		return "the whole network of this host"
	}
	return "unknown"
}
