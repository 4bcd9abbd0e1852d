package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/rpc"
)

// promptItem is one prompt in prompts/list.
type promptItem struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// promptPage is a page of prompts/list.
type promptPage struct {
	Prompts []json.RawMessage `json:"prompts"`
	Next    string            `json:"nextCursor,omitempty"`
}

// gotPrompt is prompts/get's answer.
type gotPrompt struct {
	Description string          `json:"description"`
	Messages    []promptMessage `json:"messages"`
}

type promptMessage struct {
	Role    string     `json:"role"`
	Content promptText `json:"content"`
}

type promptText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// listPrompts serves prompts/list: one prompt for each skill.
func (s *Server) listPrompts(_ context.Context, raw json.RawMessage) (any, error) {
	var at string
	if err := params(raw, map[string]*string{"cursor": &at}); err != nil {
		return nil, err
	}
	skills := s.now().Catalog.Skills
	p, err := turn(at, len(skills), func(i int) string { return skills[i].Name }, func(i int) (any, error) {
		return promptItem{skills[i].Name, skills[i].Name, promptDescription(skills[i])}, nil
	})
	return promptPage{p.items, p.next}, err
}

// promptDescription is what a skill says of itself on one line.
func promptDescription(sk *catalog.Skill) string {
	var parts []string
	for _, p := range []*string{sk.Description, sk.WhenToUse} {
		if p != nil && *p != "" {
			parts = append(parts, *p)
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("The %s skill.", sk.Name)
	}
	return strings.Join(parts, " ")
}

// getPrompt serves prompts/get: the skill's instructions as the user's words.
func (s *Server) getPrompt(_ context.Context, raw json.RawMessage) (any, error) {
	var name string
	if err := params(raw, map[string]*string{"name": &name}); err != nil {
		return nil, err
	}
	sk := s.now().Catalog.Skill(name)
	if sk == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "no prompt named %s", quoted(name))
	}
	text := sk.Body
	if sk.BodyTruncated {
		text += fmt.Sprintf("\n\n[The instructions of this skill are longer than the %d bytes that are read of them; the rest is missing here. "+
			"It can be read with skill_file.]", catalog.MaxSkillMD)
	}
	return gotPrompt{promptDescription(sk), []promptMessage{{"user", promptText{"text", text}}}}, nil
}
