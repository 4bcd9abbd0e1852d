package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/confirm"
	"skill-mcp/internal/jsontext"
	"skill-mcp/internal/rpc"
)

const (
	// maxResult is what a result's text may take on the wire; the rest of
	// rpc.MaxMessage is for the envelope and the client's id.
	maxResult = rpc.MaxMessage - 64<<10
	// maxStructured is the longest text that is also sent as structured
	// content: beyond it the copy costs more than any client gains.
	maxStructured = 256 << 10
)

// encode is v as one line of JSON with strings as they are.
func encode(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode the result: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// wireLen is the length of a one-line JSON text once it is a JSON string
// itself: JSON holds no raw control characters, so only quotes and backslashes
// grow.
func wireLen(text string) int {
	return len(text) + strings.Count(text, `"`) + strings.Count(text, `\`)
}

// textCost is the length of raw text on the wire inside a result: escaped once
// as a JSON string and once more as part of the text block.
func textCost(s string) int {
	_, twice := jsontext.Lengths(s)
	return twice
}

// success makes the result of a tool: one text block of one line, and the same
// object as structured content where that is small.
func success(text string) (*mcp.CallToolResult, error) { return filled(text, nil, nil) }

// filled is a success whose object gets texts in its empty members.
func filled(text string, keys []string, fills []rpc.Fill) (*mcp.CallToolResult, error) {
	d, err := rpc.NewDocument(text, keys, fills)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if d.WireLen() > maxResult {
		return failure("the result is larger than a message may be", "ask for less at once"), nil
	}
	return rpc.NewDocumentResult(d, d.Len() <= maxStructured), nil
}

// result encodes v as a success. Its members named by keys are empty texts in v
// and get the texts.
func result(v any, keys []string, fills []rpc.Fill) (*mcp.CallToolResult, error) {
	text, err := encode(v)
	if err != nil {
		return nil, err
	}
	return filled(text, keys, fills)
}

// gateResult makes an answer of the confirmation gate a result. Its text is
// indented for people; the structured copy is one line.
func gateResult(r confirm.Reply) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: "text", Text: r.Text}}, IsError: r.IsError}
	var line bytes.Buffer
	if !r.IsError && json.Compact(&line, []byte(r.Text)) == nil {
		out.RawStructuredContent = line.Bytes()
	}
	return out
}

// cut shortens text to at most n bytes at a character boundary and marks it.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
