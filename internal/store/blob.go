package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
)

var blobRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// KeepBlob writes a file that outlives the process, such as an archive that was
// fetched, and gives the name it is found under. Whoever keeps it says in an
// object that it is there before giving the lock back; KeepOnly drops the rest.
func (l *Lock) KeepBlob(fill func(io.Writer) error) (name string, err error) {
	if err := l.root.MkdirAll("blobs", 0o700); err != nil {
		return "", fmt.Errorf("make blob folder: %w", err)
	}
	name = randomID()
	f, err := l.root.OpenFile("blobs/"+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("make blob: %w", err)
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return "", errors.Join(err, l.DropBlob(name))
	}
	return name, nil
}

// OpenBlob opens a kept file for reading.
func (s *Store) OpenBlob(name string) (*os.File, error) {
	if !blobRule().MatchString(name) {
		return nil, fmt.Errorf("blob name %q is not allowed", name)
	}
	return s.root.Open("blobs/" + name)
}

// DropBlob removes a kept file; one that is not there is no error.
func (l *Lock) DropBlob(name string) error {
	if !blobRule().MatchString(name) {
		return fmt.Errorf("blob name %q is not allowed", name)
	}
	return ignoreMissing(l.root.Remove("blobs/" + name))
}

// KeepOnly removes every kept file but those in used: what a process left that
// ended between keeping a file and saying so.
func (l *Lock) KeepOnly(used []string) error {
	d, err := l.root.Open("blobs")
	if err != nil {
		return ignoreMissing(err)
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	for _, name := range names {
		if !slices.Contains(used, name) {
			err = errors.Join(err, ignoreMissing(l.root.Remove("blobs/"+name)))
		}
	}
	return err
}
