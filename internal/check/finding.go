package check

import (
	"cmp"
	"slices"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/deps"
)

// Level is how much a finding matters.
type Level string

// The levels; SARIF has the same words.
const (
	Error   Level = "error"   // not served, not run, or against the specification
	Warning Level = "warning" // it works, but not quite as written
)

// The codes that this package adds to the reasons of catalog and the codes of
// deps.
const (
	CodeNoSkills    = "no-skills"
	CodeSyntax      = "syntax"
	CodeLong        = "skill-md-truncated"
	CodeInterpreter = "interpreter-not-offered"
	CodeHost        = "host-not-reached"
	CodeUnreadYml   = "dependency.unread-file"
)

// Finding is one thing that an author should look at.
type Finding struct {
	Path string `json:"path"` // absolute
	// Line and Column begin at 1, columns in characters; both are 0 when the
	// file or folder as a whole is meant.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Level   Level  `json:"level"`
	Code    string `json:"code"` // a reason of the contract, a dependency code, or one of this package
	Message string `json:"message"`
}

// Unchecked is something that could not be looked at, and why.
type Unchecked struct {
	Path   string `json:"path"` // absolute
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Report is the outcome for all directories.
type Report struct {
	Skills     int         `json:"skills"` // how many can be served
	Errors     int         `json:"errors"`
	Warnings   int         `json:"warnings"`
	Findings   []Finding   `json:"findings"`   // by path, line, column; never nil
	NotChecked []Unchecked `json:"notChecked"` // never nil
}

// Failed reports whether the command ends with 1.
func (r Report) Failed(strict bool) bool { return r.Errors > 0 || strict && r.Warnings > 0 }

// finish sorts, drops what two overlapping directories both gave, and counts.
func (r *Report) finish() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Column-b.Column,
			strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	r.Findings = slices.Compact(r.Findings)
	for _, f := range r.Findings {
		if f.Level == Error {
			r.Errors++
		} else {
			r.Warnings++
		}
	}
}

// Rule says what a code is about.
type Rule struct {
	Code  string
	Level Level // of its findings, unless docs/decisions say otherwise
	About string
}

// Rules are the codes with a row of their own, errors first. Every code that
// begins with "dependency." and has none is an error of agents/openai.yaml.
func Rules() []Rule {
	return []Rule{
		{CodeNoSkills, Error, "no skill in the directory"},
		{catalog.RootUnreadable, Error, "the directory cannot be read"},
		{catalog.UnreadableSkillMD, Error, "SKILL.md cannot be read"},
		{catalog.MalformedFrontmatter, Error, "the frontmatter of SKILL.md is not valid"},
		{catalog.UnusableName, Error, "the directory's name cannot name a skill"},
		{catalog.DuplicateName, Error, "two directories have the same name"},
		{catalog.NotPortable, Error, "against the Agent Skills specification"},
		{catalog.DeclarationProblem, Error, "the mcp-host block is not as it should be"},
		{catalog.DeclaredScriptMissing, Error, "a declared script does not exist"},
		{catalog.SymlinkEscape, Error, "a link leads outside"},
		{CodeSyntax, Error, "a script that node cannot parse (a warning where it is not declared)"},
		{deps.CodeConflict, Warning, "skills of one folder need different servers under one name"},
		{catalog.NameMismatch, Warning, "served under another name than SKILL.md says"},
		{catalog.NoSkillMD, Warning, "a directory beside skills without SKILL.md"},
		{catalog.HiddenDirectory, Warning, "skills in a hidden directory are not found"},
		{catalog.NestedSkill, Warning, "a skill inside a skill is not found"},
		{catalog.UnusablePath, Warning, "a file name that cannot be served"},
		{catalog.UnreadablePath, Warning, "a directory that cannot be read"},
		{catalog.FileLimit, Warning, "more files than are listed"},
		{CodeLong, Warning, "SKILL.md is longer than what is read"},
		{CodeInterpreter, Warning, "a script for an interpreter that the policy does not offer"},
		{CodeHost, Warning, "a declared host that no run reaches without more"},
		{CodeUnreadYml, Warning, "a dependency file that is not read"},
	}
}

// rule gives the row of a code.
func rule(code string) Rule {
	for _, r := range Rules() {
		if r.Code == code {
			return r
		}
	}
	return Rule{code, Error, "agents/openai.yaml is not as it should be"}
}
