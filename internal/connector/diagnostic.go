package connector

import (
	"fmt"

	"skill-mcp/internal/secretscan"
)

// Level says whether a diagnostic blocks.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Diagnostic is one finding in a document. Detail never repeats a value that
// may be a secret.
type Diagnostic struct {
	Level  Level  `json:"level"`
	Code   string `json:"code"`            // connector-template.…
	Path   string `json:"path,omitempty"`  // e.g. args[3], oauth.client_id
	Detail string `json:"detail"`          // what is wrong and what would be right
	Limit  int    `json:"limit,omitempty"` // the bound that was passed
}

// String gives path, detail and code in one line.
func (d Diagnostic) String() string {
	if d.Path == "" {
		return fmt.Sprintf("%s: %s (%s)", d.Level, d.Detail, d.Code)
	}
	return fmt.Sprintf("%s: %s: %s (%s)", d.Level, d.Path, d.Detail, d.Code)
}

// Report is everything found in one document, in document order.
type Report struct {
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Ready reports whether nothing blocks.
func (r *Report) Ready() bool {
	for _, d := range r.Diagnostics {
		if d.Level == Error {
			return false
		}
	}
	return true
}

// fail records an error.
func (r *Report) fail(code, path, format string, args ...any) {
	r.add(Error, code, path, 0, fmt.Sprintf(format, args...))
}

// over records a passed bound.
func (r *Report) over(code, path string, limit int, format string, args ...any) {
	r.add(Error, code, path, limit, fmt.Sprintf(format, args...))
}

// warn records what a person should know.
func (r *Report) warn(code, path, format string, args ...any) {
	r.add(Warning, code, path, 0, fmt.Sprintf(format, args...))
}

// add is the one way into a report, so that no credential gets past it: a key or
// a name of a document may be one as well as a value.
func (r *Report) add(level Level, code, path string, limit int, detail string) {
	r.Diagnostics = append(r.Diagnostics, Diagnostic{level, prefix + code, hide(path), hide(detail), limit})
}

func hide(text string) string {
	if secretscan.Value(text) {
		return "[hidden: looks like a credential]"
	}
	return text
}

// prefix of every code.
const prefix = "connector-template."
