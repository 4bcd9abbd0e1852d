//go:build !linux

package monitor

import (
	"fmt"
	"os"
	"path/filepath"
)

// openRoot opens a root; here its real path is what later lookups start at.
func openRoot(path string) (place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return place{}, err
	}
	f, err := os.Open(real)
	return place{f, real}, err
}

// openDir opens a directory below base, never outside it.
func openDir(base place, rel string) (place, error) { return beneath(base, rel, os.FileMode.IsDir) }

// openRegular opens a regular file below base for reading, never outside it.
func openRegular(base place, rel string) (place, error) {
	return beneath(base, rel, os.FileMode.IsRegular)
}

// beneath looks rel up through os.Root, which does not leave base.
func beneath(base place, rel string, want func(os.FileMode) bool) (place, error) {
	root, err := os.OpenRoot(base.path)
	if err != nil {
		return place{}, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return place{}, err
	}
	if !want(info.Mode()) {
		return place{}, fmt.Errorf("open %s: not the kind of file wanted", rel)
	}
	f, err := root.Open(rel)
	if err != nil {
		return place{}, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(base.path, rel))
	if err != nil {
		_ = f.Close()
		return place{}, err
	}
	return place{f, real}, nil
}
