package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step (renameat2 with RENAME_EXCHANGE, Linux
// 3.15; ext4, xfs, btrfs, tmpfs, overlayfs). The error is errors.ErrUnsupported
// where kernel or file system cannot.
func exchange(from *os.Root, a string, to *os.Root, b string) error {
	return renameat2(from, a, to, b, unix.RENAME_EXCHANGE)
}

// moveNew renames a to b and fails when b exists.
func moveNew(from *os.Root, a string, to *os.Root, b string) error {
	return renameat2(from, a, to, b, unix.RENAME_NOREPLACE)
}

// renameat2 takes names of one part only, so nothing below the two folders is
// resolved.
func renameat2(from *os.Root, a string, to *os.Root, b string, flags uint) error {
	d, err := from.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	e, err := to.Open(".")
	if err != nil {
		return err
	}
	defer e.Close()
	err = unix.Renameat2(int(d.Fd()), a, int(e.Fd()), b, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: a, New: b, Err: err}
	}
	return nil
}

// syncAll brings everything written below root to the disk: one call instead of
// one for each of a skill's files.
func syncAll(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
