package catalog

import (
	"fmt"

	"skill-mcp/internal/yamlcore"
)

// Reasons of problems. A client may branch on them; new ones may be added.
const (
	RootUnreadable        = "root-unreadable"         // a folder of skills is not there or cannot be read
	NoSkillMD             = "no-skill-md"             // a directory among the skills has nothing named SKILL.md
	UnreadableSkillMD     = "unreadable-skill-md"     // SKILL.md is there and is no readable regular file inside the skill
	MalformedFrontmatter  = "malformed-frontmatter"   // the block between the fences is missing, too large or no YAML 1.2
	DeclarationProblem    = "declaration"             // the mcp-host block has a mistake; what is wrong is dropped
	DuplicateName         = "duplicate-name"          // several directories have one name, and none of them is served
	NameMismatch          = "name-mismatch"           // the name in the frontmatter is not the directory's; the directory's counts
	UnusableName          = "unusable-name"           // the directory's name cannot be a skill's name
	DeclaredScriptMissing = "declared-script-missing" // a declared script is no regular file inside the skill
	SymlinkEscape         = "symlink-escape"          // a link leads out of the skill or the folder, and is not followed
	UnusablePath          = "unusable-path"           // a file's path cannot be given to clients
	FileLimit             = "file-limit"              // the skill has more files than are listed
	SkillLimit            = "skill-limit"             // more skills were found than are served
	HiddenDirectory       = "hidden-directory"        // a directory that begins with a dot holds skills, and is not scanned
	NestedSkill           = "nested-skill"            // a skill inside a skill is files of the outer one
	UnreadablePath        = "unreadable-path"         // a directory inside the skill could not be read

	// The reasons below are given by other packages.

	NotPortable       = "not-portable"       // the skill breaks the Agent Skills specification and is served all the same
	DependencyProblem = "dependency"         // agents/openai.yaml has a mistake, or skills disagree on a server
	GrantProblem      = "grant"              // a row of MCP_SKILL_RUN grants nothing, or the variable cannot be read
	EnvironUnscrubbed = "environ-unscrubbed" // the server's environment could not be wiped, and no script runs
)

// Problem is one thing that is not as it should be: where, why in one word,
// and what a person can do about it. Path is absolute.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

const (
	// maxSameProblems is how many problems of one reason a skill (or a root)
	// may have; the rest is counted. A bundle can hold thousands of odd files.
	maxSameProblems = 20
	// maxDeclarationProblems is the same for the declaration, whose problems
	// an author reads one by one.
	maxDeclarationProblems = 100
	// maxProblems keeps the whole list far below the 8 MiB of a result.
	maxProblems = 4000
)

// problems collects problems and counts those over a limit.
type problems struct {
	list []Problem
	seen map[string]int
}

// add takes a problem in; path and detail become valid UTF-8.
func (p *problems) add(path, reason, format string, args ...any) {
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.seen[reason]++
	if p.seen[reason] > limitOf(reason) {
		return
	}
	detail := fmt.Sprintf(format, args...)
	p.list = append(p.list, Problem{valid(path), reason, valid(detail)})
}

func limitOf(reason string) int {
	if reason == DeclarationProblem {
		return maxDeclarationProblems
	}
	return maxSameProblems
}

// done gives the problems, with one more for each reason that went over its
// limit, at path.
func (p *problems) done(path string) []Problem {
	var out []Problem
	for i, q := range p.list {
		out = append(out, q)
		over := p.seen[q.Reason] - limitOf(q.Reason)
		if over > 0 && p.lastOf(i) {
			out = append(out, Problem{valid(path), q.Reason, fmt.Sprintf("%d more of this kind are not listed", over)})
		}
	}
	return out
}

// join takes in the problems of another collection, with its counts at path.
// What went over a limit there does not count here.
func (p *problems) join(q *problems, path string) { p.list = append(p.list, q.done(path)...) }

// lastOf reports whether no later problem has the reason of number i.
func (p *problems) lastOf(i int) bool {
	for _, q := range p.list[i+1:] {
		if q.Reason == p.list[i].Reason {
			return false
		}
	}
	return true
}

// valid replaces what is not UTF-8, as file names may hold any byte.
func valid(s string) string { return yamlcore.DecodeUTF8([]byte(s)) }
