package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/wire"
)

// View is what is served at one time: a catalog and what the owner switched
// off. It is swapped whole; a call that began keeps the one it began with.
type View struct {
	Catalog  *catalog.Catalog
	Disabled []string     // names of skills that must not run
	MCP      Dependencies // nil: no skill needs MCP servers
}

// view adds what is derived from a View once.
type view struct {
	View
	disabled map[string]bool

	mu       sync.Mutex
	listText string // skill_list's answer, once the helper has said what runs here
}

// newView derives the indexes.
func newView(v View) *view {
	out := &view{View: v, disabled: map[string]bool{}}
	for _, n := range v.Disabled {
		out.disabled[n] = true
	}
	return out
}

// find gives a served skill or a refusal that lists what there is.
func (v *view) find(name string) (*catalog.Skill, error) {
	if s := v.Catalog.Skill(name); s != nil {
		return s, nil
	}
	names := make([]string, 0, len(v.Catalog.Skills))
	for _, s := range v.Catalog.Skills {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nil, refuse("no skill is served here; skill_list says why under problems", "no skill named %s", quoted(name))
	}
	return nil, refuse("the skills here are: "+cut(strings.Join(names, ", "), 4096), "no skill named %s", quoted(name))
}

// effective is one declared script and what the owner and this host make of it.
type effective struct {
	catalog.Script
	granted  bool
	env      []string // declared, granted and not reserved
	runnable bool
	reason   string // why it cannot run here: the interpreter
}

// scripts judges every declared script of a skill, in declaration order.
func (s *Server) scripts(v *view, sk *catalog.Skill, ready wire.Ready) []effective {
	out := make([]effective, 0, len(sk.Declaration.Scripts))
	for _, d := range sk.Declaration.Scripts {
		e := effective{Script: d}
		e.env, e.granted = s.deps.Front.Grants.Allows(sk.Name, d.Path, d.Env)
		if v.disabled[sk.Name] {
			e.granted = false
		}
		e.reason = unrunnable(d.Interpreter, ready)
		e.runnable = e.reason == ""
		out = append(out, e)
	}
	return out
}

// unrunnable says why an interpreter cannot be used here, "" when it can.
func unrunnable(name string, ready wire.Ready) string {
	var names []string
	for _, i := range ready.Interpreters {
		if i.Name == name && i.Reason == "" {
			return ""
		}
		if i.Name == name {
			return fmt.Sprintf("the interpreter %s cannot be used here: %s", quoted(name), i.Reason)
		}
		names = append(names, i.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("the interpreter %s is not available: this server has none", quoted(name))
	}
	return fmt.Sprintf("the interpreter %s is not available here (available: %s)", quoted(name), strings.Join(names, ", "))
}

// grantProblems reports what the owner's rows cannot mean here.
func (s *Server) grantProblems(v *view) []catalog.Problem {
	g := s.deps.Front.Grants
	var out []catalog.Problem
	add := func(format string, a ...any) {
		out = append(out, catalog.Problem{Path: "MCP_SKILL_RUN", Reason: catalog.GrantProblem, Detail: fmt.Sprintf(format, a...)})
	}
	for _, n := range g.Notes {
		add("%s", n)
	}
	if g.From != grant.FromVariable || g.Error != "" {
		return out
	}
	for _, r := range g.Rows {
		sk := v.Catalog.Skill(r.Skill)
		if sk == nil {
			add("the row for script %s names the skill %s, which is not served; it grants nothing", quoted(r.Script), quoted(r.Skill))
			continue
		}
		i := slices.IndexFunc(sk.Declaration.Scripts, func(d catalog.Script) bool { return d.Path == r.Script })
		if i < 0 {
			add("the skill %s does not declare the script %s; the row grants nothing", quoted(r.Skill), quoted(r.Script))
			continue
		}
		var unasked []string
		for _, n := range r.Env {
			if !slices.Contains(sk.Declaration.Scripts[i].Env, n) && !slices.Contains(unasked, n) {
				unasked = append(unasked, n)
			}
		}
		if len(unasked) > 0 {
			sort.Strings(unasked)
			add("the script %s of skill %s does not ask for %s; these names are not handed over", quoted(r.Script), quoted(r.Skill), strings.Join(unasked, ", "))
		}
	}
	return out
}

// scrubBlocked says why no script may run at all: the environment this server
// was started with could not be wiped, and a hosted server must not risk it.
func (s *Server) scrubBlocked(ready wire.Ready) (catalog.Problem, bool) {
	if ready.Scrub.State != "failed" || !s.deps.Front.Hosted || s.deps.Front.AllowUnscrubbed {
		return catalog.Problem{}, false
	}
	return catalog.Problem{
		Path: "/proc/self/environ", Reason: catalog.EnvironUnscrubbed,
		Detail: fmt.Sprintf("the exec-time environ of this server could not be wiped (%s), so a script could read its variables; "+
			"no script runs. The owner can accept this with MCP_SKILL_ALLOW_UNSCRUBBED=1", ready.Scrub.Reason),
	}, true
}

// hello is what the helper said of this host, or why it said nothing.
func (s *Server) hello(ctx context.Context) (wire.Ready, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	return s.deps.Runner.Ready(ctx)
}
