//go:build unix

package policyfile

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// readOwned reads an owner's policy file. It is opened once and everything is
// asked of the descriptor: a regular file, owned by root or one of owners, that
// nobody else may write. Whoever can write it decides what every script may do.
func readOwned(file string, owners []int) ([]byte, error) {
	// O_NONBLOCK: a FIFO of that name must not hang the server's start.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("open policy %q: %w", file, cause(err))
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open policy %q: %w", file, cause(err))
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("open policy %q: not a regular file", file)
	}
	if err := believable(st, owners); err != nil {
		return nil, fmt.Errorf("open policy %q: %w", file, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read policy %q: %w", file, cause(err))
	}
	return text, nil
}

// believable reports why a file is not the owner's own word.
func believable(st os.FileInfo, owners []int) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("its owner cannot be told on this system")
	}
	uid := int(sys.Uid)
	if uid != 0 && !slices.Contains(owners, uid) {
		return fmt.Errorf("owned by uid %d, who is neither root nor the user who starts the server: chown it", uid)
	}
	if m := st.Mode().Perm(); m&0o022 != 0 {
		return fmt.Errorf("mode %04o lets others write it: chmod go-w", m)
	}
	return nil
}

// cause takes the errno out of a path error, whose path the caller names.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}
