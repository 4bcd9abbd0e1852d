package catalog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readSkill reads one candidate.
func readSkill(ctx context.Context, c candidate, opts *Options) result {
	var p problems
	s := &Skill{Source: c.source, Root: c.root, Dir: c.dir, Name: filepath.Base(c.dir)}
	if rel, err := filepath.Rel(c.rootReal, c.dir); err == nil {
		s.Rel = filepath.ToSlash(rel)
	}
	served := s.read(ctx, opts, &p)
	if !served {
		s = nil
	}
	return result{s, p.done(c.dir)}
}

// read fills in a skill. It gives false when the skill cannot be served.
func (s *Skill) read(ctx context.Context, opts *Options, p *problems) bool {
	src, ok := s.readSkillMD(p)
	if !ok {
		return false
	}
	doc, err := parseSkillMD(src)
	if err != nil {
		p.add(s.Dir, MalformedFrontmatter, "%v", err)
		return false
	}
	s.Frontmatter, s.Body = doc.frontmatter, doc.body
	s.describe()
	s.Declaration = declare(doc.frontmatter, opts.Reserved, func(detail string) { p.add(s.Dir, DeclarationProblem, "%s", detail) })
	if !usableName(s.Name) {
		p.add(s.Dir, UnusableName, "the directory name %s cannot name a skill: letters, digits, \".\", \"_\" and \"-\", a letter or digit first, 64 at most", quotePath(valid(s.Name)))
		return false
	}
	if name, ok := doc.frontmatter.Get("name").Str(); ok && name != s.Name {
		p.add(s.Dir, NameMismatch, "the frontmatter names the skill %s, but it is served under the name of its directory, %s", quotePath(name), quotePath(s.Name))
	}
	s.NotPortable = notPortable(s.Name, doc.frontmatter)
	if err := s.list(ctx, p); err != nil {
		return false
	}
	s.missingScripts(p)
	return true
}

// describe takes the texts a client sees out of the frontmatter.
func (s *Skill) describe() {
	if text, ok := s.Frontmatter.Get("description").Str(); ok {
		s.Description = &text
	}
	for _, key := range []string{"when_to_use", "when-to-use"} {
		if text, ok := s.Frontmatter.Get(key).Str(); ok {
			s.WhenToUse = &text
		}
	}
}

// missingScripts reports the declared scripts that are no files of the bundle.
// A link to a regular file inside the skill is one.
func (s *Skill) missingScripts(p *problems) {
	for _, script := range s.Declaration.Scripts {
		if _, listed := slices.BinarySearch(s.Paths(), script.Path); listed {
			continue
		}
		if info, err := os.Lstat(filepath.Join(s.Dir, filepath.FromSlash(script.Path))); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if _, err := s.Resolve(script.Path); err == nil {
				continue
			}
		}
		p.add(s.Dir, DeclaredScriptMissing, "the declared script %s is not among the files of the skill", quotePath(script.Path))
	}
}

// readSkillMD reads the beginning of SKILL.md.
func (s *Skill) readSkillMD(p *problems) ([]byte, bool) {
	found, err := s.reach(skillFile)
	var src string
	if err == nil {
		src, _, err = found.read(MaxSkillMD)
	}
	switch {
	case err == nil:
	case errors.Is(err, errOutside):
		p.add(s.Dir, SymlinkEscape, "SKILL.md is a link that leads outside the skill, to %s; the skill is not served", found.Real)
		return nil, false
	default:
		p.add(s.Dir, UnreadableSkillMD, "SKILL.md cannot be read: %s", skillMDFault(err))
		return nil, false
	}
	if len(src) > MaxSkillMD {
		s.BodyTruncated = true
		src = wholeCharacters(src[:MaxSkillMD])
	}
	return []byte(src), true
}

// skillMDFault says why SKILL.md cannot be read, in the system's words where
// there are any.
func skillMDFault(err error) string {
	var missing *missingError
	if errors.As(err, &missing) {
		if errors.Is(missing.cause, fs.ErrNotExist) {
			return "it is a link to nothing"
		}
		return plain(missing.cause).Error()
	}
	var refused *Refused
	if errors.As(err, &refused) {
		return strings.TrimPrefix(refused.Message, quotePath(skillFile)+" ")
	}
	return plain(err).Error()
}

// usableName matches ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$.
func usableName(s string) bool {
	if s == "" || len(s) > maxNameLength || s[0] == '.' || s[0] == '_' || s[0] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
