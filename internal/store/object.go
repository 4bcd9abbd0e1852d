package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// retry is how often a taken lock is tried again.
const retry = 25 * time.Millisecond

func randomID() string {
	var b [16]byte
	// rand.Read never fails since Go 1.24.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Put writes one object: to a temporary name, to the disk, then in place.
func (l *Lock) Put(kind, id string, value any) error {
	name, err := objectPath(kind, id)
	if err != nil {
		return err
	}
	data, err := encode(value)
	if err != nil {
		return fmt.Errorf("write %s %q: %w", kind, id, err)
	}
	if err := l.replace(name, data); err != nil {
		return fmt.Errorf("write %s %q: %w", kind, id, err)
	}
	return nil
}

// Delete removes one object; one that is not there is no error.
func (l *Lock) Delete(kind, id string) error {
	name, err := objectPath(kind, id)
	if err != nil {
		return err
	}
	if err := l.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s %q: %w", kind, id, err)
	}
	return nil
}

func encode(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return append(data, '\n'), err
}

// replace puts data at name as a whole or not at all.
func (s *Store) replace(name string, data []byte) error {
	dir := path.Dir(name)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := s.root.MkdirAll(WorkFolder, 0o700); err != nil {
		return err
	}
	defer s.root.Remove(WorkFolder) // stays when another change still uses it
	temporary := WorkFolder + "/" + randomID()
	if err := writeSynced(s.root, temporary, data); err != nil {
		return errors.Join(err, ignoreMissing(s.root.Remove(temporary)))
	}
	s.step("rename " + name)
	if err := s.root.Rename(temporary, name); err != nil {
		return errors.Join(err, ignoreMissing(s.root.Remove(temporary)))
	}
	return syncFolder(s.root, dir)
}

func writeSynced(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes a rename in dir last through a power cut.
func syncFolder(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return syncRefused(err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
