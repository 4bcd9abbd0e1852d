package catalog

import (
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

// holdsSkills reports whether a directory is a skill, or has skills in the
// layouts of a root.
func holdsSkills(dir string) bool {
	return isSkill(dir) || len(skillsIn(dir)) > 0 || len(skillsIn(filepath.Join(dir, "skills"))) > 0
}

// nested reports the skills inside a root that is itself a skill.
func (r *rootScan) nested() {
	for _, dir := range append(skillsIn(r.real), skillsIn(filepath.Join(r.real, "skills"))...) {
		r.aside.add(dir, NestedSkill, "the root is itself a skill, so %s is a directory of its bundle and not a skill; remove the root's SKILL.md or use the root's parent",
			quotePath(filepath.ToSlash(strings.TrimPrefix(dir, r.real+string(filepath.Separator)))))
	}
}
