package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// namePrefix begins the name of every group and directory of a run.
const namePrefix = "skill-mcp-"

// prefix names this boot, so that a name never belongs to a process of another.
func prefix() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	boot, _, _ := strings.Cut(string(id), "-")
	return namePrefix + boot + "-"
}

// startTicks is when a process was started, in ticks since boot: with its pid
// a name no other process of this boot has. "" when it is gone.
func startTicks(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(b), ") ")
	if f := strings.Fields(rest); len(f) > 19 {
		return f[19]
	}
	return ""
}

// Sweep removes the groups and directories that a killed monitor left, after
// ending what still runs in them, and says what it did.
func (h *Host) Sweep() (notes []string) {
	places := []string{h.tmpRoot}
	if h.groups.v2 != "" {
		places = append(places, h.groups.v2)
	}
	for _, d := range h.groups.v1 {
		places = append(places, d)
	}
	for _, place := range places {
		entries, _ := os.ReadDir(place)
		for _, e := range entries {
			at := filepath.Join(place, e.Name())
			if !e.IsDir() || !stale(e.Name()) || !ours(at) {
				continue
			}
			if err := sweepOne(at, place == h.tmpRoot); err != nil {
				notes = append(notes, "left behind by a killed monitor: "+err.Error())
				continue
			}
			notes = append(notes, "removed what a killed monitor left: "+at)
		}
	}
	return notes
}

// stale reports whether name is a run's and its monitor is gone:
// skill-mcp-BOOT-PID-TICKS-N.
func stale(name string) bool {
	f := strings.Split(strings.TrimPrefix(name, namePrefix), "-")
	if !strings.HasPrefix(name, namePrefix) || len(f) != 4 {
		return false
	}
	pid, err := strconv.Atoi(f[1])
	return err == nil && (namePrefix+f[0]+"-" != prefix() || startTicks(pid) != f[2])
}

// ours reports whether this user owns the directory: /tmp is everybody's.
func ours(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && int(st.Uid) == os.Geteuid()
}

func sweepOne(at string, directory bool) error {
	if directory {
		return removeTree(at)
	}
	o := &group{v2: at}
	o.strike()
	for i := 0; i < 100; i++ {
		if err := os.Remove(at); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		o.settle(20 * time.Millisecond)
	}
	return os.Remove(at)
}

// removeTree removes a run's directory, whatever a script left in it:
// directories without permission, or deeper than there are descriptors.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	top, operr := openOwn(unix.AT_FDCWD, dir)
	if operr != nil {
		return err
	}
	defer unix.Close(top)
	unix.Fchmod(top, 0o700)
	for round := 0; round < 1000 && flatten(top); round++ {
	}
	return os.RemoveAll(dir)
}

// flatten empties the directory behind top by one level: what is no directory
// goes, and what a directory in it holds either goes or moves up to top. It
// reports whether there is more to do.
func flatten(top int) (more bool) {
	for _, n := range namesIn(top) {
		if unix.Unlinkat(top, n, 0) == nil {
			continue
		}
		fd, err := openOwn(top, n)
		if err != nil {
			continue
		}
		unix.Fchmod(fd, 0o700) // one that can be read need not be writable
		for _, in := range namesIn(fd) {
			if unix.Unlinkat(fd, in, 0) == nil {
				continue
			}
			if sub, err := openOwn(fd, in); err == nil { // a directory can only move when it is writable
				unix.Fchmod(sub, 0o700)
				unix.Close(sub)
			}
			unix.Renameat(fd, in, top, token())
		}
		unix.Close(fd)
		if unix.Unlinkat(top, n, unix.AT_REMOVEDIR) == nil {
			more = true
		}
	}
	return more
}

// openOwn opens a directory below at, and gives its owner back the permission
// that a script took away. No link is followed, also not one that is put in its
// place meanwhile: the mode is changed through the descriptor.
func openOwn(at int, name string) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := unix.Openat(at, name, unix.O_RDONLY|flags, 0)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	path, err := unix.Openat(at, name, unix.O_PATH|flags, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	self := "/proc/self/fd/" + strconv.Itoa(path)
	if err := unix.Chmod(self, 0o700); err != nil {
		return -1, err
	}
	return unix.Open(self, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// namesIn lists a directory from its beginning.
func namesIn(fd int) []string {
	again, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(again), ".")
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}
