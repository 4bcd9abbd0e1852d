package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

// Overview is what is served and what each script may reach, for an owner who
// looks. Names only, never the value of a variable.
type Overview struct {
	Front     config.Front
	Skills    []SkillOverview
	Problems  []catalog.Problem // of no skill that is served
	Fence     *report.Fence     // nil: the helper said nothing
	FenceNote string            // why Fence is nil
}

// SkillOverview is one served skill.
type SkillOverview struct {
	Name, Description, Dir string
	Files                  int
	Bytes                  int64
	Disabled               bool              // the owner switched it off
	Problems               []catalog.Problem // not-portable is among them
	Scripts                []ScriptOverview  // as declared, in that order
}

// ScriptOverview is one declared script and what a run of it would get here.
type ScriptOverview struct {
	Path, Interpreter string
	TimeoutMs         int64  // of a run, 0 when it does not run
	Why               string // why it does not run here; "" when it does
	Asked             bool   // false: past maxPlans, nothing below is known

	// What is granted to a run; of one that does not run, what it asks for.
	Env   []string
	Hosts []string // names in mode declared

	NotSet  []string // variables that are granted and not set here
	Reads   []string // beyond its skill, the interpreter and its libraries
	Writes  []string // beyond its scratch folder
	Home    string   // a sentence, "" = HOME is as set
	Network string   // none, declared, proxy or open; "" when it does not run
}

// maxPlans bounds how many scripts the helper is asked about for one overview:
// an answer takes about a millisecond and the hash of a file.
const maxPlans = 256

// Overview puts together what is served now. It waits for the helper's word on
// this host and asks it about each script that may run.
func (s *Server) Overview(ctx context.Context) Overview {
	v := s.now()
	ready, err := s.hello(ctx)
	l := s.list(v, ready, err)
	o := Overview{Front: s.deps.Front, Fence: l.Fence, FenceNote: l.FenceNote}
	if l.GrantErr != "" {
		o.Problems = append(o.Problems, catalog.Problem{Path: "MCP_SKILL_RUN", Reason: catalog.GrantProblem, Detail: l.GrantErr})
	}
	rest := append(append([]catalog.Problem{}, l.Problems...), l.Portable...)
	plans := 0
	for _, sk := range v.Catalog.Skills {
		out := SkillOverview{
			Name: sk.Name, Dir: sk.Dir, Files: len(sk.Paths()), Bytes: sk.Bytes(), Disabled: v.disabled[sk.Name],
		}
		if sk.Description != nil {
			out.Description = *sk.Description
		}
		out.Problems, rest = problemsOf(sk, rest)
		for _, e := range s.scripts(v, sk, ready) {
			if plans++; plans > maxPlans {
				out.Scripts = append(out.Scripts, ScriptOverview{Path: e.Path, Interpreter: e.Interpreter})
				continue
			}
			out.Scripts = append(out.Scripts, s.scriptOverview(ctx, v, sk, e, ready, err))
		}
		o.Skills = append(o.Skills, out)
	}
	o.Problems = append(o.Problems, rest...)
	return o
}

// problemsOf parts the problems that lie at or below a skill from the others.
func problemsOf(sk *catalog.Skill, all []catalog.Problem) (own, rest []catalog.Problem) {
	for _, p := range all {
		if p.Path == sk.Dir || strings.HasPrefix(p.Path, sk.Dir+"/") {
			own = append(own, p)
		} else {
			rest = append(rest, p)
		}
	}
	return own, rest
}

// scriptOverview asks the helper what a run of one script would get.
func (s *Server) scriptOverview(ctx context.Context, v *view, sk *catalog.Skill, e effective, ready wire.Ready, helperErr error) ScriptOverview {
	out := ScriptOverview{Path: e.Path, Interpreter: e.Interpreter, Asked: true, Env: e.Env, Hosts: sk.Declaration.Egress}
	got, err := s.wouldGet(ctx, v, sk, e, ready, helperErr)
	if err != nil {
		out.Why = err.Error()
		return out
	}
	out.TimeoutMs, out.Env, out.NotSet, out.Hosts = got.TimeoutMs, got.EnvNames, got.EnvNotSet, got.Hosts
	out.Reads, out.Writes, out.Home, out.Network = got.Reads, got.Writes, got.Home, got.Fence.Network
	return out
}

// wouldGet makes the checks of a call with no arguments, without the digest of
// the bundle: nothing is approved by an overview.
func (s *Server) wouldGet(ctx context.Context, v *view, sk *catalog.Skill, e effective, ready wire.Ready, helperErr error) (wire.Planned, error) {
	if helperErr != nil {
		return wire.Planned{}, helperErr
	}
	if p, blocked := s.scrubBlocked(ready); blocked {
		return wire.Planned{}, fmt.Errorf("no script may run on this server: %s", p.Detail)
	}
	switch {
	case !e.runnable:
		return wire.Planned{}, fmt.Errorf("%s", e.reason)
	case !e.granted:
		return wire.Planned{}, fmt.Errorf("not granted: %s", s.ungranted(v, sk))
	}
	if _, err := sk.Resolve(e.Path); err != nil {
		return wire.Planned{}, err
	}
	mcpServers, err := v.runConfig()
	if err != nil {
		return wire.Planned{}, err
	}
	sum, err := sk.ScriptDigest(ctx, e.Path)
	if err != nil {
		return wire.Planned{}, err
	}
	return s.deps.Runner.Plan(ctx, wire.Request{
		Root: sk.Root, Dir: sk.Rel, Skill: sk.Name, Script: e.Path, Args: []string{}, Interpreter: e.Interpreter, Env: e.env,
		TimeoutMs: timeout(e.TimeoutMs), Hosts: hosts(sk.Declaration.Egress, mcpServers.Hosts), Config: len(mcpServers.Config) > 0,
		ScriptSHA256: sum, BundleSHA256: sum,
	})
}

// Grants says in a few words where the owner's grants came from.
func (o Overview) Grants() string {
	switch g := o.Front.Grants; {
	case g.Error != "":
		return "none: MCP_SKILL_RUN cannot be read"
	case g.From == grant.FromVariable:
		return fmt.Sprintf("MCP_SKILL_RUN, %d rows", len(g.Rows))
	case g.From == grant.FromHosted:
		return "none: hosted, and MCP_SKILL_RUN is not set"
	}
	return "whatever a served skill declares"
}
