//go:build !linux

package beneath

import (
	"fmt"
	"os"
	"path/filepath"
)

// OpenRoot opens a root; here its real path is what later lookups start at.
func OpenRoot(path string) (Place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Place{}, err
	}
	f, err := os.Open(real)
	return Place{f, real}, err
}

// OpenDir opens a directory below base, never outside it.
func OpenDir(base Place, rel string) (Place, error) { return beneath(base, rel, os.FileMode.IsDir) }

// OpenRegular opens a regular file below base for reading, never outside it.
func OpenRegular(base Place, rel string) (Place, error) {
	return beneath(base, rel, os.FileMode.IsRegular)
}

// beneath looks rel up through os.Root, which does not leave base.
func beneath(base Place, rel string, want func(os.FileMode) bool) (Place, error) {
	root, err := os.OpenRoot(base.Path)
	if err != nil {
		return Place{}, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return Place{}, err
	}
	if !want(info.Mode()) {
		return Place{}, fmt.Errorf("open %s: not the kind of file wanted", rel)
	}
	f, err := root.Open(rel)
	if err != nil {
		return Place{}, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base.Path, rel))
	if err != nil {
		_ = f.Close()
		return Place{}, err
	}
	return Place{f, real}, nil
}
