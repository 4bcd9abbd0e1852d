//go:build !linux

package catalog

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// tree is an open directory whose subdirectories are listed without leaving it.
type tree struct{ root *os.Root }

// openTree opens a directory.
func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root}, nil
}

func (t *tree) close() { _ = t.root.Close() }

// holds is not known in one call here.
func (t *tree) holds(string, string) (there, sure bool) { return false, false }

// openFile opens a file below for reading. Links on the way are followed as
// long as they stay below. A FIFO is refused here, as opening it would wait.
func (t *tree) openFile(rel string) (*os.File, error) {
	info, err := t.root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Refused{quotePath(rel) + " is not a regular file", pathHint}
	}
	return t.root.Open(rel)
}

// readlink gives the target text of a link below.
func (t *tree) readlink(rel string) (string, error) { return t.root.Readlink(filepath.FromSlash(rel)) }

// list gives the entries of a directory below (rel is "." for the tree itself)
// in no order. sizes asks for the sizes of files. whole is false when the
// directory holds more than maxEntries.
func (t *tree) list(rel string, sizes bool) (out []entry, whole bool, err error) {
	f, err := t.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	names, err := f.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	for _, d := range names {
		e := entry{name: d.Name(), path: below(rel) + d.Name(), kind: kindOf(d.Type())}
		if sizes && e.kind == fileEntry {
			if info, err := d.Info(); err == nil {
				e.size = info.Size()
			}
		}
		out = append(out, e)
	}
	return out, len(names) <= maxEntries, nil
}

func kindOf(m fs.FileMode) entryKind {
	switch {
	case m.IsRegular():
		return fileEntry
	case m.IsDir():
		return dirEntry
	case m&fs.ModeSymlink != 0:
		return linkEntry
	}
	return otherEntry
}

// sizes fills in the sizes of files.
func (t *tree) sizes(files []File) {
	for i := range files {
		if info, err := t.root.Lstat(filepath.FromSlash(files[i].Path)); err == nil && info.Mode().IsRegular() {
			files[i].Size = info.Size()
		}
	}
}
