package catalog

import (
	"os"
	"path/filepath"
	"slices"
)

// reportLinks reports the links that lead out of the skill.
func (s *Skill) reportLinks(links []string, p *problems) {
	slices.Sort(links)
	var escapes problems
	for _, link := range links {
		if s.leaves(link) {
			at := filepath.Join(s.Dir, filepath.FromSlash(link))
			escapes.add(at, SymlinkEscape, "the link %s leads outside the skill; it is not listed and cannot be read", quotePath(link))
		}
	}
	p.join(&escapes, s.Dir)
}

// leaves reports whether a link of the bundle leads out of the skill. One that
// leads nowhere is judged by where it would lead.
func (s *Skill) leaves(link string) bool {
	path := filepath.Join(s.Dir, filepath.FromSlash(link))
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return !inside(s.Dir, real)
	}
	// Go on link by link, to the first that is missing or cannot be read. One
	// that leads to itself leads nowhere; 40 links is what Linux follows.
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			return !inside(s.Dir, existing(path))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(existing(filepath.Dir(path)), target)
		}
		path = target
	}
	return false
}

// existing gives the real path of the deepest part of a path that exists, with
// the rest added.
func existing(path string) string {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
