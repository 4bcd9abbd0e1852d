package spawn

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The uids of runs: between what distributions give to people and homed (up
// to 60705) and what systemd gives to services (from 61184), and low enough
// for a container that maps 65536 ids.
const (
	firstUID = 60800
	countUID = 256
)

// uidSlot is one uid that no other server uses, held by a lock on a file that
// the kernel releases however this process ends.
type uidSlot struct {
	uid  int
	lock *os.File
}

// takeUID takes the first free uid. The lock directory is root's alone, so
// that nobody else can hold the locks.
func takeUID(dir string) (*uidSlot, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make lock directory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil || st.Uid != 0 || st.Mode&0o022 != 0 || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, fmt.Errorf("lock directory %s is not root's alone: %w", dir, unix.EPERM)
	}
	for i := 0; i < countUID; i++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("uid-%d.lock", firstUID+i)), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open uid lock: %w", err)
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return &uidSlot{firstUID + i, f}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("take a uid: all %d are in use: %w", countUID, unix.EAGAIN)
}
