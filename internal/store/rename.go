package store

import (
	"errors"
	"fmt"
	"os"
	"path"
)

// swap exchanges two paths below root in one step, or says
// errors.ErrUnsupported.
func swap(root *os.Root, a, b string) error {
	return inFolders(root, a, b, exchange)
}

// move renames from to to, which must not exist.
func move(root *os.Root, from, to string) error {
	err := inFolders(root, from, to, moveNew)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if there, err := exists(root, to); err != nil || there {
		return errors.Join(err, fmt.Errorf("put %s in place: %w", to, os.ErrExist))
	}
	return root.Rename(from, to)
}

// inFolders opens the folders that hold two paths and does something with the
// names in them.
func inFolders(root *os.Root, a, b string, do func(*os.Root, string, *os.Root, string) error) error {
	from, err := root.OpenRoot(path.Dir(a))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.OpenRoot(path.Dir(b))
	if err != nil {
		return err
	}
	defer to.Close()
	return do(from, path.Base(a), to, path.Base(b))
}
