package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/confirm"
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
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			n += 4
		case c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			n += 3
		case c < ' ':
			n += 7
		case c == 0xe2: // U+2028 and U+2029 are escaped by encoding/json
			if strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029") {
				n += 7
				i += 2
				continue
			}
			n++
		default:
			n++
		}
	}
	return n
}

// success makes the result of a tool: one text block of one line, and the same
// object as structured content where that is small.
func success(text string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: "text", Text: text}}}
	if len(text) <= maxStructured {
		r.RawStructuredContent = json.RawMessage(text)
	}
	return r
}

// result encodes v as a success. Its members named by keys are empty texts in v
// and get the texts.
func result(v any, keys, texts []string) (*mcp.CallToolResult, error) {
	text, err := encode(v)
	if err == nil {
		text, err = spliced(text, keys, texts)
	}
	if err != nil {
		return nil, err
	}
	if wireLen(text) > maxResult {
		return failure("the result is larger than a message may be", "ask for less at once"), nil
	}
	return success(text), nil
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
