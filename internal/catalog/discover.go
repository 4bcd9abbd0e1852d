package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// skillFile is the name that makes a directory a skill.
const skillFile = "SKILL.md"

// discovery finds the directories that may be skills.
type discovery struct {
	reached map[string]bool // real paths of all directories seen, in any root
	roots   []rootScan
}

// rootScan is what was found under one configured root.
type rootScan struct {
	index      int
	source     string // as configured, absolute
	real       string
	skills     string // real path of its skills directory, if any
	candidates []candidate
	links      []linkProblem
	noSkill    []Problem
	aside      problems // of what is not scanned at all
}

// candidate is a directory with something named SKILL.md in it.
type candidate struct {
	dir, source, rootReal string
	root                  int
}

// linkProblem is a problem of a link; with a target it holds only when that
// directory is served.
type linkProblem struct {
	Problem
	target string
}

func (r *rootScan) linkProblems(served map[string]bool) []Problem {
	var out []Problem
	for _, l := range r.links {
		if l.target == "" || served[l.target] {
			out = append(out, l.Problem)
		}
	}
	return out
}

// candidates gives the candidates of all roots in order.
func (d *discovery) candidates() []candidate {
	var all []candidate
	for _, r := range d.roots {
		all = append(all, r.candidates...)
	}
	return all
}

// configured gives the roots as they were configured, as one list of paths.
func (d *discovery) configured() string {
	var all []string
	for _, r := range d.roots {
		all = append(all, r.source)
	}
	return strings.Join(all, string(os.PathListSeparator))
}

// root scans one configured root.
func (d *discovery) root(index int, source string) {
	d.roots = append(d.roots, rootScan{index: index, source: source})
	r := &d.roots[index]
	real, err := filepath.EvalSymlinks(source)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
	}
	if err != nil {
		r.unreadable(err)
		return
	}
	r.real = real
	if info, err := os.Stat(filepath.Join(real, skillFile)); err == nil && info.Mode().IsRegular() {
		if !d.reached[real] {
			d.reached[real] = true
			r.candidates = append(r.candidates, r.candidate(real))
			r.nested()
		}
		return
	}
	r.skills = r.skillsDir()
	if err := d.parent(r, real); err != nil {
		r.unreadable(err)
		return
	}
	if r.skills != "" {
		if err := d.parent(r, r.skills); err != nil {
			r.aside.add(r.skills, UnreadablePath, "the skills directory cannot be read: %v", plain(err))
		}
	}
}

func (r *rootScan) unreadable(err error) {
	r.noSkill = append(r.noSkill, Problem{valid(r.source), RootUnreadable, valid(plain(err).Error())})
}

func (r *rootScan) candidate(dir string) candidate {
	return candidate{dir: dir, source: r.source, rootReal: r.real, root: r.index}
}

// link notes a problem of a link or entry.
func (r *rootScan) link(path, reason, detail, target string) {
	r.links = append(r.links, linkProblem{Problem{valid(path), reason, valid(detail)}, target})
}

// skillsDir gives the real path of <root>/skills, or "" when there is none
// that may be scanned.
func (r *rootScan) skillsDir() string {
	path := filepath.Join(r.real, "skills")
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if _, lerr := os.Lstat(path); lerr == nil {
			r.link(path, SymlinkEscape, "the skills directory is a broken symlink: "+plain(err).Error(), "")
		}
		return ""
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return ""
	}
	if !inside(r.real, real) {
		r.link(path, SymlinkEscape, "the skills directory resolves to "+real+", outside the configured root; it is not scanned", "")
		return ""
	}
	if real == r.real {
		return "" // a link to the root itself, which is scanned anyway
	}
	return real
}

// parent scans the entries of one directory.
func (d *discovery) parent(r *rootScan, dir string) error {
	t, err := openTree(dir)
	if err != nil {
		return err
	}
	defer t.close()
	entries, whole, err := t.list(".", false)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	if !whole {
		r.aside.add(dir, FileLimit, "more than %d entries; the rest is not scanned", maxEntries)
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.name, "."):
			if e.kind == dirEntry {
				r.hidden(dir, e.name)
			}
		case e.kind == dirEntry || e.kind == linkEntry:
			d.entry(r, t, dir, e)
		}
	}
	return nil
}

// entry looks at one directory or link of a scanned directory.
func (d *discovery) entry(r *rootScan, t *tree, dir string, e entry) {
	path := filepath.Join(dir, e.name)
	isSkills := dir == r.real && e.name == "skills"
	if e.kind == dirEntry && !isSkills { // a directory of a real path has a real path
		if isSkill, sure := t.holds(e.name, skillFile); sure {
			d.directory(r, path, isSkill, false)
			return
		}
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil && isSkills, err == nil && isSkills && !inside(r.real, real):
		return // skillsDir has reported it
	case err != nil:
		r.link(path, SymlinkEscape, unresolved(e, err), "")
		return
	case !inside(r.real, real):
		what := "the directory"
		if e.kind == linkEntry {
			what = "the symlink"
		}
		r.link(path, SymlinkEscape, what+" resolves to "+real+", outside the configured root; it is not served", "")
		return
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return
	}
	_, err = os.Lstat(filepath.Join(real, skillFile))
	isSkill := !errors.Is(err, fs.ErrNotExist)
	if name := filepath.Base(real); isSkill && e.kind == linkEntry && name != e.name {
		r.link(path, NameMismatch, "the link leads to "+real+", whose skill is served as "+quote(name)+"; a grant has to use that name", real)
	}
	d.directory(r, real, isSkill, isSkills)
}

// directory takes in a directory by its real path. isSkills says that it is
// there to hold skills.
func (d *discovery) directory(r *rootScan, real string, isSkill, isSkills bool) {
	if d.reached[real] {
		return
	}
	d.reached[real] = true
	switch {
	case isSkill:
		r.candidates = append(r.candidates, r.candidate(real))
	case real != r.skills && !isSkills:
		r.noSkill = append(r.noSkill, Problem{valid(real), NoSkillMD, "no SKILL.md in this directory (the name is written exactly so)"})
	}
}

// unresolved says why an entry cannot be resolved.
func unresolved(e entry, err error) string {
	if e.kind == linkEntry && errors.Is(err, fs.ErrNotExist) {
		return "broken symlink: its target does not exist"
	}
	return "could not be resolved (broken symlink or unreadable target): " + plain(err).Error()
}
