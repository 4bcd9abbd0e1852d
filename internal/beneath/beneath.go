// Package beneath opens what lies below a directory and nothing else: one
// lookup that the kernel keeps inside, real paths, regular files known to be
// so before they are opened.
//
// It cannot write, and a name never becomes a path outside its directory. The
// monitor calls it with names that the front sent.
package beneath

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Place is an open file or directory and its real path.
type Place struct {
	File *os.File // nil = none
	Path string
}

// Close gives the descriptor back.
func (p Place) Close() {
	if p.File != nil {
		_ = p.File.Close()
	}
}

// Local reports whether rel can name something below a directory: not empty,
// not absolute, no "..", no NUL, in its shortest form.
func Local(rel string) bool {
	return filepath.IsLocal(rel) && filepath.Clean(rel) == rel && !strings.ContainsRune(rel, 0)
}

// Candidate reports whether dir, a real path, is where a skill of root may
// lie: the root itself when it is a skill, else a child of the root or of its
// skills directory, directly or by a link. A directory deeper in somebody's
// bundle that has the name of a granted skill is none.
func Candidate(root, dir string) error {
	info, err := os.Stat(filepath.Join(root, "SKILL.md"))
	rootIsSkill := err == nil && info.Mode().IsRegular()
	if (dir == root) != rootIsSkill {
		return fmt.Errorf("%s is not a skill directory of root %s", dir, root)
	}
	if rootIsSkill {
		return nil
	}
	for _, parent := range []string{root, filepath.Join(root, "skills")} {
		if filepath.Dir(dir) == parent && !strings.HasPrefix(filepath.Base(dir), ".") {
			return nil
		}
		entries, _ := os.ReadDir(parent) // a parent that cannot be read holds no skill
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 && parent == root {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(parent, e.Name())); err == nil && real == dir && !strings.HasPrefix(e.Name(), ".") {
				return nil
			}
		}
	}
	return fmt.Errorf("%s is not a skill directory of root %s", dir, root)
}
