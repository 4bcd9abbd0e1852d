package connector

import "fmt"

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
	r.Diagnostics = append(r.Diagnostics, Diagnostic{Level: Error, Code: prefix + code, Path: path, Detail: fmt.Sprintf(format, args...)})
}

// over records a passed bound.
func (r *Report) over(code, path string, limit int, format string, args ...any) {
	r.Diagnostics = append(r.Diagnostics, Diagnostic{Level: Error, Code: prefix + code, Path: path, Detail: fmt.Sprintf(format, args...), Limit: limit})
}

// warn records what a person should know.
func (r *Report) warn(code, path, format string, args ...any) {
	r.Diagnostics = append(r.Diagnostics, Diagnostic{Level: Warning, Code: prefix + code, Path: path, Detail: fmt.Sprintf(format, args...)})
}

// prefix of every code.
const prefix = "connector-template."
