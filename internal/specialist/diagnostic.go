package specialist

import (
	"fmt"
	"strings"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/secretscan"
)

// Level says what follows from a diagnostic.
type Level string

// Errors stop an install, warnings want to be read, notes only inform.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
)

// Diagnostic is one finding in a package. All text in it is safe to print: it
// holds no control characters, no prompt and nothing of the shape of a
// credential.
type Diagnostic struct {
	Level   Level  `json:"level"`
	Code    string `json:"code"`
	Path    string `json:"path,omitempty"`  // in the package; [unsafe]/leaf for a name that must not be used
	Field   string `json:"field,omitempty"` // in the document, e.g. skill_ids[2]
	Message string `json:"message"`
	Actual  int64  `json:"actual,omitempty"` // what was met, in Unit
	Limit   int64  `json:"limit,omitempty"`  // the most that is taken, in Unit
	Unit    string `json:"unit,omitempty"`   // bytes, files, entries, segments, ratio, characters, folders
}

// String is the diagnostic in one line.
func (d Diagnostic) String() string {
	s := string(d.Level) + " " + d.Code
	if d.Path != "" {
		s += " " + d.Path
	}
	if d.Field != "" {
		s += " (" + d.Field + ")"
	}
	s += ": " + d.Message
	if d.Unit != "" {
		s += fmt.Sprintf(" (%d, limit %d %s)", d.Actual, d.Limit, d.Unit)
	}
	return s
}

// maxDiagnostics bounds a report: an archive may hold 32,768 bad entries, and
// nobody reads more than this.
const maxDiagnostics = 1000

// findings collects what is wrong.
type findings struct {
	list   []Diagnostic
	errors int
	left   int // diagnostics that found no room
}

func (f *findings) add(d Diagnostic) {
	if d.Level == LevelError {
		f.errors++
	}
	if len(f.list) >= maxDiagnostics {
		f.left++
		return
	}
	d.Path, d.Field, d.Message = masked(d.Path), masked(d.Field), masked(d.Message)
	f.list = append(f.list, d)
}

func (f *findings) addf(level Level, code, path, field, format string, args ...any) {
	f.add(Diagnostic{Level: level, Code: code, Path: path, Field: field, Message: fmt.Sprintf(format, args...)})
}

// all gives the findings, and says when some are not among them.
func (f *findings) all() []Diagnostic {
	out := append([]Diagnostic{}, f.list...)
	if f.left > 0 {
		out = append(out, Diagnostic{Level: LevelInfo, Code: "package.diagnostics-cut", Message: fmt.Sprintf("%d more are not listed", f.left)})
	}
	return out
}

// hidden stands for text that looks like a credential.
const hidden = "[hidden: looks like a credential]"

// masked keeps credentials out of everything that is said.
func masked(text string) string {
	if secretscan.Value(text) {
		return hidden
	}
	return text
}

// shown is a short text of somebody else's, quoted and safe to print.
func shown(unsafeText string) string { return masked(archive.Shown(unsafeText)) }

// plain is a longer text of somebody else's, safe to print, without quotes.
func plain(unsafeText string) string {
	if secretscan.Value(unsafeText) {
		return hidden
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if s := archive.Shown(string(r)); r == '"' || r == '\\' || s == `"`+string(r)+`"` {
			return r
		}
		return '\ufffd'
	}, unsafeText)
}

// placeOf names an entry. Of a name that must not be used only the last part is
// shown.
func placeOf(e *archive.Entry) string {
	if e.Problem == nil || !e.Problem.UnsafeName() {
		return quiet(e.Name)
	}
	leaf := e.Name
	if at := strings.LastIndexAny(leaf, `/\:`); at >= 0 {
		leaf = leaf[at+1:]
	}
	return "[unsafe]/" + quiet(leaf)
}

// quiet is shown without the quotes.
func quiet(unsafeText string) string {
	s := archive.Shown(unsafeText)
	return masked(s[1 : len(s)-1])
}

// The codes of refusals: of an install, an export, a delete.
const (
	CodeCandidateInvalid     = "candidate-invalid"
	CodeStaleCandidate       = "stale-candidate"
	CodeCandidateExpired     = "candidate-expired"
	CodeNotInstallable       = "candidate-not-installable"
	CodeResolutionRequired   = "skill-conflict-resolution-required"
	CodeConfirmationRequired = "overwrite-confirmation-required"
	CodeProtectedTarget      = "protected-target"
	CodeRevisionConflict     = "revision-conflict"
	CodeCommitFailed         = "commit-failed"
	CodeRollbackFailed       = "rollback-failed"
	CodeRecoveryFailed       = "recovery-failed"
	CodeProtectedSkill       = "protected-skill"
	CodeStalePreview         = "stale-preview"
	CodeUnknownSpecialist    = "unknown-specialist"
	CodeExportInvalid        = "export-invalid"
	CodePreviewAgain         = "preview-again"
	CodeSource               = "source-unusable"
	CodeRecordUnreadable     = "record-unreadable"
)

func refuse(code, hint, format string, args ...any) error {
	return &pack.Refusal{Code: code, Hint: hint, Message: masked(fmt.Sprintf(format, args...))}
}

func refuseErr(code string, err error, format string, args ...any) error {
	return &pack.Refusal{Code: code, Message: masked(fmt.Sprintf(format, args...) + ": " + err.Error()), Err: err}
}
