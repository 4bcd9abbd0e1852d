package catalog

import (
	"skill-mcp/internal/yamlcore"
)

// Skill is one skill as it was at the time of the scan.
type Skill struct {
	// Name is the base name of the real directory.
	Name string
	// Description and WhenToUse are nil when the frontmatter has no such text.
	Description, WhenToUse *string
	// Source is the configured root, absolute but not resolved; Root is its
	// index among the configured roots.
	Source string
	Root   int
	// Dir is the real path of the directory; Rel is the same relative to the
	// root's real path, with "/" between segments, "." for the root itself.
	Dir, Rel string
	// Body is what follows the frontmatter, untouched; BodyTruncated says that
	// SKILL.md is longer than MaxSkillMD.
	Body          string
	BodyTruncated bool
	// Declaration is what the skill asks for, not what it gets.
	Declaration Declaration
	// Frontmatter is the whole of it, always a map.
	Frontmatter *yamlcore.Node
	// NotPortable says why the skill does not meet the Agent Skills
	// specification; empty when it does.
	NotPortable []string

	manifest manifest // see Paths, Files and Bytes
	hashes   *hashCache
}

// Catalog is what one scan found. It never changes; it is safe for concurrent
// use.
type Catalog struct {
	// Skills are the skills that are served, in the order of the scan.
	Skills []*Skill
	// Problems are in the order of the contract: per root, then duplicates,
	// then the limit. Problems of grants, dependencies and portability are not
	// among them (see PortabilityProblems).
	Problems []Problem

	byName map[string]*Skill
	hashes *hashCache
}

// Skill gives the skill of a name, nil when none is served under it.
func (c *Catalog) Skill(name string) *Skill { return c.byName[name] }

// PortabilityProblems gives one problem for each skill that does not meet the
// Agent Skills specification. The tools serve such a skill all the same.
func (c *Catalog) PortabilityProblems() []Problem {
	var p problems
	var out []Problem
	for _, s := range c.Skills {
		if len(s.NotPortable) == 0 {
			continue
		}
		p = problems{}
		p.add(s.Dir, NotPortable, "%s", joinReasons(s.NotPortable))
		out = append(out, p.list...)
	}
	return out
}
