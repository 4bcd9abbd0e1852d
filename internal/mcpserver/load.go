package mcpserver

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/catalog"
)

// loaded is skill_load's answer; the order of the fields is the contract's.
type loaded struct {
	Name           string         `json:"name"`
	Description    *string        `json:"description,omitempty"`
	WhenToUse      *string        `json:"whenToUse,omitempty"`
	Source         string         `json:"source"`
	Body           string         `json:"body"`
	Truncated      bool           `json:"truncated"`
	TruncationNote string         `json:"truncationNote,omitempty"`
	Files          []catalog.File `json:"files"`
	FilesNote      string         `json:"filesNote,omitempty"` // how many files did not fit
	Scripts        []loadedScript `json:"scripts"`
	MCP            []Dependency   `json:"mcpDependencies,omitempty"`
}

type loadedScript struct {
	Script      string `json:"script"`
	Interpreter string `json:"interpreter"`
	Runnable    bool   `json:"runnableHere"`
}

// handleLoad answers skill_load.
func (s *Server) handleLoad(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, err := readArguments(r, "name")
	if err != nil {
		return invalid(toolLoad, err), nil
	}
	name, err := a.text("name", true)
	if err != nil {
		return invalid(toolLoad, err), nil
	}
	v := s.now()
	sk, err := v.find(name)
	if err != nil {
		return failed(err), nil
	}
	out := loaded{
		Name: sk.Name, Description: sk.Description, WhenToUse: sk.WhenToUse, Source: sk.Source, Body: sk.Body,
		Truncated: sk.BodyTruncated, Files: sk.Files(), Scripts: []loadedScript{}, MCP: v.dependencies(sk),
	}
	if out.Files == nil {
		out.Files = []catalog.File{}
	}
	if sk.BodyTruncated {
		out.TruncationNote = fmt.Sprintf("SKILL.md is longer than the %d bytes that are read of it; the rest is not shown", catalog.MaxSkillMD)
	}
	if len(sk.Declaration.Scripts) > 0 {
		ready, _ := s.hello(ctx) // without a helper nothing is runnable, and that is what is said
		for _, e := range s.scripts(v, sk, ready) {
			if e.granted {
				out.Scripts = append(out.Scripts, loadedScript{e.Path, e.Interpreter, e.runnable})
			}
		}
	}
	return loadResult(out)
}

// loadResult encodes out. A manifest of 2,000 long names can be larger than a
// message: then its end is left out, and said so.
func loadResult(out loaded) (*mcp.CallToolResult, error) {
	all := len(out.Files)
	for {
		text, err := encode(out)
		if err != nil {
			return nil, err
		}
		if wireLen(text) <= maxResult || len(out.Files) == 0 {
			return success(text)
		}
		out.Files = out.Files[:len(out.Files)/2]
		out.FilesNote = fmt.Sprintf("only the first %d of %d files fit this answer", len(out.Files), all)
	}
}
