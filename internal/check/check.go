package check

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/deps"
)

// Options says what to look at.
type Options struct {
	// Dirs are absolute; each is a skill or a folder of skills, and is looked
	// at by itself.
	Dirs []string
	// Reserved tells the names of variables that no script may be handed.
	Reserved func(name string) bool
	// Interpreters are the names of the policy's closed set; nil means that it
	// is not known, and nothing is said about them.
	Interpreters []string
	// Syntax asks node about one script; it must not be nil.
	Syntax Checker
}

// maxSkills is far above the 136 skills of the largest published bundle, and
// keeps a directory that is no folder of skills from being read for minutes.
const maxSkills = 4096

// Run looks at all directories. When ctx ends, what was not read is missing.
func Run(ctx context.Context, o Options) Report {
	c := checker{o: o, out: Report{Findings: []Finding{}, NotChecked: []Unchecked{}}}
	for i, dir := range o.Dirs {
		found := catalog.Scan(ctx, catalog.Options{Roots: []string{dir}, MaxSkills: maxSkills, Reserved: o.Reserved})
		c.directory(ctx, i, dir, found)
	}
	c.out.finish()
	return c.out
}

// checker is one run over all directories.
type checker struct {
	o   Options
	out Report
}

// add takes a finding in.
func (c *checker) add(path string, at place, level Level, code, message string) {
	c.out.Findings = append(c.out.Findings, Finding{path, at.line, at.column, level, code, message})
}

// directory reports on one directory of the command line.
func (c *checker) directory(ctx context.Context, root int, dir string, found *catalog.Catalog) {
	if len(found.Skills) == 0 && !slices.ContainsFunc(found.Problems, func(p catalog.Problem) bool { return p.Reason != catalog.NoSkillMD }) {
		c.add(dir, place{}, Error, CodeNoSkills, "no skill here: there is no SKILL.md in this directory, in a directory below it, or in one below its skills directory (the name is written exactly so)"+deeper(dir))
		return
	}
	byDir := map[string]*catalog.Skill{}
	for _, s := range found.Skills {
		byDir[s.Dir] = s
	}
	for _, p := range found.Problems {
		c.problem(p, byDir[p.Path])
	}
	c.out.Skills += len(found.Skills)
	var declared []deps.Declared
	for _, s := range found.Skills {
		c.skill(s)
		if servers := c.dependencies(s); len(servers) > 0 {
			declared = append(declared, deps.Declared{Skill: s.Name, Servers: servers})
		}
		c.syntax(ctx, root, s)
	}
	c.conflicts(dir, declared)
}

// problem reports one problem of the contract; s is the skill at its path, nil
// when none is served there.
func (c *checker) problem(p catalog.Problem, s *catalog.Skill) {
	path, at := p.Path, place{}
	if s != nil {
		at = locate(s.Frontmatter, p.Detail)
	} else if l, ok := stated(p.Detail); ok {
		at = l
	}
	switch p.Reason {
	case catalog.MalformedFrontmatter, catalog.DeclarationProblem, catalog.NameMismatch, catalog.DeclaredScriptMissing:
		path, at = skillMD(path), orStart(at)
	case catalog.UnreadableSkillMD:
		path, at = skillMD(path), place{}
	default:
		at = place{}
	}
	c.add(path, at, levelOf(p), p.Reason, p.Detail)
}

// levelOf gives the level of a problem of the contract. A declaration that is
// only partly ignored, or bounded, still does what it says.
func levelOf(p catalog.Problem) Level {
	unknown := strings.Contains(p.Detail, "unknown key ") && strings.HasSuffix(p.Detail, ", ignored")
	if p.Reason == catalog.DeclarationProblem && (unknown || strings.HasSuffix(p.Detail, "that is used")) {
		return Warning
	}
	return rule(p.Reason).Level
}

// skill reports what is no problem of the contract.
func (c *checker) skill(s *catalog.Skill) {
	for _, why := range s.NotPortable {
		c.add(skillMD(s.Dir), orStart(locatePortable(s.Frontmatter, why)), Error, catalog.NotPortable, why)
	}
	if s.BodyTruncated {
		c.add(skillMD(s.Dir), place{}, Warning, CodeLong,
			fmt.Sprintf("SKILL.md has more than the %d bytes that are read; move the rest to files of the skill", catalog.MaxSkillMD))
	}
	for _, d := range s.Declaration.Scripts {
		if c.o.Interpreters != nil && !slices.Contains(c.o.Interpreters, d.Interpreter) {
			c.add(skillMD(s.Dir), orStart(scriptPlace(s.Frontmatter, quoted(d.Path), "interpreter")), Warning, CodeInterpreter,
				fmt.Sprintf("the policy has no interpreter %q (it has %s): the script runs only where the owner adds it", d.Interpreter, strings.Join(c.o.Interpreters, ", ")))
		}
	}
	c.hosts(s)
}

// skillMD is the path of a skill's main file.
func skillMD(dir string) string { return filepath.Join(dir, "SKILL.md") }
