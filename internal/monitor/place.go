package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// place is an open file or directory and its real path.
type place struct {
	file *os.File
	path string
}

// close gives the descriptor back.
func (p place) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// local reports whether rel can name something below a directory: not empty,
// not absolute, no "..", no NUL, in its shortest form.
func local(rel string) bool {
	return filepath.IsLocal(rel) && filepath.Clean(rel) == rel && !strings.ContainsRune(rel, 0)
}

// candidate reports whether dir, a real path, is where a skill of root may
// lie: the root itself when it is a skill, else a child of the root or of its
// skills directory, directly or by a link. A directory deeper in somebody's
// bundle that has the name of a granted skill is none.
func candidate(root, dir string) error {
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
