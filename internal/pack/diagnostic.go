package pack

import (
	"errors"
	"fmt"

	"skill-mcp/internal/archive"
)

// Level says what follows from a diagnostic.
type Level string

// Errors stop an import, warnings want to be read, notes only inform.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNote    Level = "note"
)

// Codes of what is wrong with one skill.
const (
	CodeNoName         = "skill.no-name"
	CodeNoFrontMatter  = "skill.no-front-matter"
	CodeFrontMatter    = "skill.front-matter-invalid"
	CodeNameReserved   = "skill.name-reserved"
	CodeNameChanged    = "skill.name-normalised"
	CodeNoDescription  = "skill.no-description"
	CodeDocument       = "skill.document-invalid"
	CodeNoDocument     = "skill.document-missing"
	CodeFileUnusable   = "skill.file-unusable"
	CodeAppOwned       = "skill.app-owned-file"
	CodeFileCount      = "skill.file-count-exceeded"
	CodeFileSize       = "skill.file-size-exceeded"
	CodeSkillSize      = "skill.size-exceeded"
	CodeScripts        = "skill.scripts-present"
	CodeHiddenText     = "skill.hidden-text"
	CodeDotfiles       = "skill.dotfiles-left-out"
	CodeLocalEdits     = "skill.local-edits"
	CodeNameTaken      = "skill.name-taken"
	CodeSkillCount     = "bundle.skill-count-exceeded"
	CodeNotImported    = "skill.not-imported"
	CodeProtected      = "skill.protected"
	CodeHardLink       = "skill.hard-link"
	CodeUnknown        = "skill.unknown"
	CodeCannotWrite    = "skill.write-failed"
	CodeUnknownItem    = "apply.unknown-item"
	CodeNotImportable  = "apply.not-importable"
	CodeReplaceID      = "apply.replace-id-wrong"
	CodeSourceChanged  = "apply.source-changed"
	CodeChoose         = "apply.choose"
	CodeTwice          = "apply.chosen-twice"
	CodeTokenUnknown   = "token.unknown"
	CodeTokenExpired   = "token.expired"
	CodeCatalogChanged = "token.catalog-changed"
	CodeNoSkill        = "bundle.no-skill"
	CodeSource         = "source.unusable"
)

// Diagnostic is one thing to say about a skill. Text in it is safe to print.
type Diagnostic struct {
	Level   Level  `json:"level"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"` // below the skill, escaped
	Actual  int64  `json:"actual,omitempty"`
	Limit   int64  `json:"limit,omitempty"`
	Unit    string `json:"unit,omitempty"`
}

// Refusal is the error of a whole command: what was refused, and the one thing
// that would allow it.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Err     error  `json:"-"`
}

// Error is code, message and hint in one line.
func (r *Refusal) Error() string {
	s := r.Code + ": " + r.Message
	if r.Hint != "" {
		s += " (" + r.Hint + ")"
	}
	return s
}

// Unwrap gives the cause, if there is one.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(code, hint, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// refuseArchive gives a fault of a container the prefix of this package.
func refuseArchive(err error) error {
	var p *archive.Problem
	if errors.As(err, &p) {
		return &Refusal{Code: "archive." + string(p.Code), Message: p.Error(), Err: err}
	}
	return err
}

func errorf(code, format string, args ...any) Diagnostic {
	return Diagnostic{Level: LevelError, Code: code, Message: fmt.Sprintf(format, args...)}
}

func warnf(code, format string, args ...any) Diagnostic {
	return Diagnostic{Level: LevelWarning, Code: code, Message: fmt.Sprintf(format, args...)}
}

func exceeds(code, message, path string, actual, limit int64, unit string) Diagnostic {
	return Diagnostic{Level: LevelError, Code: code, Message: message, Path: path, Actual: actual, Limit: limit, Unit: unit}
}

// fromProblem is a fault of one entry as the fault of its skill: a skill is
// never imported with a hole.
func fromProblem(err error, name string) Diagnostic {
	d := errorf(CodeFileUnusable, "contains a file that could not be imported (%v)", err)
	d.Path = archive.Shown(name)
	var p *archive.Problem
	if errors.As(err, &p) {
		d.Path, d.Actual, d.Limit, d.Unit = p.Name, p.Actual, p.Limit, p.Unit
		d.Message = fmt.Sprintf("contains a file that could not be imported (%s: %s)", p.Code, p.Detail)
	}
	return d
}
