package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/runner"
)

// toolError is what a tool refuses with: what was refused and why, and the one
// thing that helps. Both are written for a model to act on.
type toolError struct {
	message string
	hint    string
}

// Error gives the message.
func (e *toolError) Error() string { return e.message }

// refuse makes a toolError.
func refuse(hint, format string, args ...any) *toolError {
	return &toolError{message: fmt.Sprintf(format, args...), hint: hint}
}

// failure is the result of a tool that refused.
func failure(message, hint string) *mcp.CallToolResult {
	text := message
	if hint != "" {
		text += "\n\nHint: " + hint
	}
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.TextContent{Type: "text", Text: cut(redact(text), maxErrorText)}},
	}
}

// maxErrorText bounds an error: it can hold names and paths of any length.
const maxErrorText = 16 << 10

// failed turns an error into a result. What the monitor refused has its own
// hint; everything else is said as it is.
func failed(err error) *mcp.CallToolResult {
	var own *toolError
	if errors.As(err, &own) {
		return failure(own.message, own.hint)
	}
	var refused *runner.RefusedError
	if errors.As(err, &refused) {
		return failure(refused.Message, refused.Hint)
	}
	return failure(err.Error(), catalog.Hint(err))
}

// maxQuoted is how many UTF-16 units of somebody's text an error repeats.
const maxQuoted = 120

// quoted shows text of a caller as a JSON string, cut.
func quoted(s string) string {
	units, at := 0, len(s)
	for i, r := range s {
		if units += utf16Len(r); units > maxQuoted {
			at = i
			break
		}
	}
	tail := ""
	if at < len(s) {
		s, tail = s[:at], "…"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s + tail); err != nil {
		return `"…"`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// utf16Len is how many UTF-16 units r takes.
func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
