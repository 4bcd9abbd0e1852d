package mcpserver

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxCompletions is how many values the protocol lets one answer have.
const maxCompletions = 100

// completer completes the variables of the resource template.
type completer struct{ s *Server }

// CompleteResourceArgument offers skill names, and paths of the skill that the
// client has already chosen.
func (c completer) CompleteResourceArgument(_ context.Context, uri string, arg mcp.CompleteArgument, given mcp.CompleteContext) (*mcp.Completion, error) {
	out := &mcp.Completion{Values: []string{}}
	if uri != uriTemplate {
		return out, nil
	}
	v := c.s.now()
	switch arg.Name {
	case "skill":
		for _, sk := range v.Catalog.Skills {
			offer(out, sk.Name, arg.Value)
		}
	case "path":
		if sk := v.Catalog.Skill(given.Arguments["skill"]); sk != nil {
			for _, path := range sk.Paths() {
				offer(out, path, arg.Value)
			}
		}
	}
	return out, nil
}

// offer adds value when it begins with what was typed.
func offer(to *mcp.Completion, value, typed string) {
	if !strings.HasPrefix(value, typed) {
		return
	}
	to.Total++
	if len(to.Values) == maxCompletions {
		to.HasMore = true
		return
	}
	to.Values = append(to.Values, value)
}
