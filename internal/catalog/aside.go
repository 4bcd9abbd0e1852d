package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is not scanned but may hold skills all the same is looked at just far
// enough to say so.

// isSkill reports whether a directory has a regular file named SKILL.md.
func isSkill(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, skillFile))
	return err == nil && info.Mode().IsRegular()
}

// skillsIn gives the subdirectories of a directory that have a SKILL.md, in
// byte order. Links and hidden ones do not count.
func skillsIn(dir string) []string {
	t, err := openTree(dir)
	if err != nil {
		return nil
	}
	defer t.close()
	entries, _, err := t.list(".", false)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.name); e.kind == dirEntry && !strings.HasPrefix(e.name, ".") && isSkill(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// maxSearched is how many directories of a hidden one are looked into. A
// repository's .git has about 300, and the answer must not delay the scan.
const maxSearched = 1000

// holdsSkills searches a directory for skills, at any depth and the nearest
// first, without following links. unsure says why it may hold some that were
// not found.
func holdsSkills(dir string) (found bool, unsure string) {
	t, err := openTree(dir)
	if err != nil {
		return false, "cannot be read"
	}
	defer t.close()
	queue := []string{"."}
	for i := 0; i < len(queue); i++ {
		entries, whole, err := t.list(queue[i], false)
		if err != nil || !whole {
			unsure = "cannot be read whole"
		}
		for _, e := range entries {
			switch {
			case e.name == skillFile && isSkill(filepath.Join(dir, queue[i])):
				return true, ""
			case e.kind == dirEntry && len(queue) == maxSearched:
				unsure = fmt.Sprintf("has more than %d directories", maxSearched)
			case e.kind == dirEntry:
				queue = append(queue, e.path)
			}
		}
	}
	return false, unsure
}

// hidden reports a directory that is not scanned for its name.
func (r *rootScan) hidden(dir, name string) {
	found, unsure := holdsSkills(filepath.Join(dir, name))
	switch {
	case found:
		r.aside.add(filepath.Join(dir, name), HiddenDirectory, "%s holds skills, but a directory whose name begins with \".\" is not scanned", quotePath(name))
	case unsure != "":
		r.aside.add(filepath.Join(dir, name), HiddenDirectory, "%s is not scanned, as its name begins with \".\", and %s: it may hold skills", quotePath(name), unsure)
	}
}

// hiddenIn reports the hidden directories of one that is not scanned either.
func (r *rootScan) hiddenIn(dir string) {
	t, err := openTree(dir)
	if err != nil {
		return
	}
	defer t.close()
	entries, _, err := t.list(".", false)
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		if e.kind == dirEntry && strings.HasPrefix(e.name, ".") {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		r.hidden(dir, name)
	}
}

// nested reports the skills inside a root that is itself a skill: those of its
// bundle, and those in hidden directories, which no root would serve.
func (r *rootScan) nested() {
	r.hiddenIn(r.real)
	r.hiddenIn(filepath.Join(r.real, "skills"))
	for _, dir := range append(skillsIn(r.real), skillsIn(filepath.Join(r.real, "skills"))...) {
		r.aside.add(dir, NestedSkill, "the root is itself a skill, so %s is a directory of its bundle and not a skill; remove the root's SKILL.md or use the root's parent",
			quotePath(filepath.ToSlash(strings.TrimPrefix(dir, r.real+string(filepath.Separator)))))
	}
}
