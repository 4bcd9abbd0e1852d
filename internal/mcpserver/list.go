package mcpserver

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

// listed is skill_list's answer; the order of the fields is the contract's.
type listed struct {
	Roots     []string           `json:"roots"`
	RootsFrom config.RootsSource `json:"rootsFrom"`
	GrantFrom grant.Source       `json:"grantFrom"`
	GrantNote string             `json:"grantNote,omitempty"`
	GrantErr  string             `json:"grantError,omitempty"`
	Skills    []listedSkill      `json:"skills"`
	Problems  []catalog.Problem  `json:"problems"`
	Portable  []catalog.Problem  `json:"notPortable,omitempty"` // served all the same, so apart from the problems
	Fence     *report.Fence      `json:"fence,omitempty"`
	FenceNote string             `json:"fenceNote,omitempty"` // why fence is absent
	Note      string             `json:"note,omitempty"`      // what was left out to fit
}

// listedSkill is one skill in it.
type listedSkill struct {
	Name        string         `json:"name"`
	Description *string        `json:"description,omitempty"`
	WhenToUse   *string        `json:"whenToUse,omitempty"`
	Source      string         `json:"source"`
	Files       int            `json:"files"`
	Bytes       int64          `json:"bytes"`
	Executable  bool           `json:"executable"`
	Scripts     []listedScript `json:"scripts"`
	Unavailable []scriptAndWhy `json:"unavailableScripts"`
	Ungranted   []scriptAndWhy `json:"ungrantedScripts,omitempty"`
	Egress      []string       `json:"declaredEgress,omitempty"`
	MCP         int            `json:"mcpDependencies,omitempty"` // how many
	Disabled    bool           `json:"disabled,omitempty"`
}

type listedScript struct {
	Script      string   `json:"script"`
	Interpreter string   `json:"interpreter"`
	TimeoutMs   int64    `json:"timeoutMs"`
	Env         []string `json:"env"`
}

type scriptAndWhy struct {
	Script string `json:"script"`
	Reason string `json:"reason"`
}

// handleList answers skill_list. What it says changes only with the view, so
// it is put together once for each.
func (s *Server) handleList(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if _, err := readArguments(r); err != nil {
		return invalid(toolList, err), nil
	}
	v := s.now()
	v.mu.Lock()
	text := v.listText
	v.mu.Unlock()
	if text != "" {
		return success(text)
	}
	ready, err := s.hello(ctx)
	l := s.list(v, ready, err)
	text, encErr := fitList(l)
	if encErr != nil {
		return nil, encErr
	}
	if err == nil {
		v.mu.Lock()
		v.listText = text
		v.mu.Unlock()
	}
	return success(text)
}

// list puts the answer together. helperErr is why ready is empty.
func (s *Server) list(v *view, ready wire.Ready, helperErr error) listed {
	f := s.deps.Front
	l := listed{
		Roots: f.Roots, RootsFrom: f.RootsFrom, GrantFrom: f.Grants.From,
		Skills: []listedSkill{}, Problems: append([]catalog.Problem{}, v.Catalog.Problems...),
		Portable: v.Catalog.PortabilityProblems(),
	}
	if l.Roots == nil {
		l.Roots = []string{}
	}
	if f.Grants.From == grant.FromHosted {
		l.GrantNote = "A host started this server and MCP_SKILL_RUN is not set, so no script is granted and nothing runs. " +
			"Instructions and files are served."
	}
	if f.Grants.Error != "" {
		l.GrantErr = f.Grants.Error + ". Nothing is granted until MCP_SKILL_RUN is fixed"
	}
	v.Catalog.Measure()
	for _, sk := range v.Catalog.Skills {
		l.Skills = append(l.Skills, s.listSkill(v, sk, ready))
	}
	l.Problems = append(l.Problems, v.dependencyProblems()...)
	l.Problems = append(l.Problems, s.grantProblems(v)...)
	if p, blocked := s.scrubBlocked(ready); blocked {
		l.Problems = append(l.Problems, p)
	}
	if helperErr != nil {
		l.FenceNote = fmt.Sprintf("unknown, and no script can run: %v", helperErr)
		return l
	}
	l.Fence = &ready.Fence
	return l
}

// listSkill puts one skill together.
func (s *Server) listSkill(v *view, sk *catalog.Skill, ready wire.Ready) listedSkill {
	out := listedSkill{
		Name: sk.Name, Description: sk.Description, WhenToUse: sk.WhenToUse, Source: sk.Source, Files: len(sk.Paths()),
		Scripts: []listedScript{}, Unavailable: []scriptAndWhy{}, Egress: sk.Declaration.Egress, Bytes: sk.Bytes(), MCP: len(v.dependencies(sk)), Disabled: v.disabled[sk.Name],
	}
	for _, e := range s.scripts(v, sk, ready) {
		switch {
		case !e.runnable:
			out.Unavailable = append(out.Unavailable, scriptAndWhy{e.Path, e.reason})
		case !e.granted:
			out.Ungranted = append(out.Ungranted, scriptAndWhy{e.Path, s.ungranted(v, sk)})
		default:
			out.Scripts = append(out.Scripts, listedScript{e.Path, e.Interpreter, int64(e.TimeoutMs), e.env})
			out.Executable = true
		}
	}
	return out
}

// ungranted says why no script, or this one, of a skill is granted.
func (s *Server) ungranted(v *view, sk *catalog.Skill) string {
	switch {
	case v.disabled[sk.Name]:
		return "the owner disabled this skill"
	case s.deps.Front.Grants.From == grant.FromHosted:
		return "no script is granted: a host started this server and MCP_SKILL_RUN is not set"
	case s.deps.Front.Grants.Error != "":
		return "no script is granted: MCP_SKILL_RUN cannot be read"
	}
	return "MCP_SKILL_RUN has no row for it"
}

// fitList encodes l. Descriptions and details are as long as authors make
// them, and up to 4,096 skills may be served: what does not fit a message is
// shortened step by step and the answer says so.
func fitList(l listed) (string, error) {
	text, err := encode(l)
	if err != nil || wireLen(text) <= maxResult {
		return text, err
	}
	for _, limit := range []int{4096, 1024, 256, 64} {
		short := l
		short.Note = fmt.Sprintf("texts over %d bytes are cut and only as many problems are listed as fit; skill_load has the whole of a skill", limit)
		short.Skills = make([]listedSkill, len(l.Skills))
		for i, sk := range l.Skills {
			sk.Description, sk.WhenToUse = cutPtr(sk.Description, limit), cutPtr(sk.WhenToUse, limit)
			short.Skills[i] = sk
		}
		short.Problems, short.Portable = cutProblems(l.Problems, limit), cutProblems(l.Portable, limit)
		if text, err = encode(short); err != nil || wireLen(text) <= maxResult {
			return text, err
		}
		l.Skills = short.Skills
	}
	for n := len(l.Skills) / 2; ; n /= 2 {
		l.Note = fmt.Sprintf("only %d of %d skills fit this answer", n, len(l.Skills))
		part := l
		part.Skills, part.Problems, part.Portable = l.Skills[:n], []catalog.Problem{}, nil
		if text, err = encode(part); err != nil || wireLen(text) <= maxResult || n == 0 {
			return text, err
		}
	}
}

// cutProblems keeps the first limit problems and shortens their texts.
func cutProblems(list []catalog.Problem, limit int) []catalog.Problem {
	out := make([]catalog.Problem, 0, min(len(list), limit))
	for _, p := range list[:min(len(list), limit)] {
		p.Detail, p.Path = cut(p.Detail, limit), cut(p.Path, 2*limit)
		out = append(out, p)
	}
	return out
}

func cutPtr(s *string, limit int) *string {
	if s == nil || len(*s) <= limit {
		return s
	}
	short := cut(*s, limit)
	return &short
}
