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

// removeTree removes a run's directory. What a script left without permission
// is opened up first; links are removed, never followed.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || os.Geteuid() == 0 { // modes do not stop root, who must not follow a path here
		return err
	}
	filepath.WalkDir(dir, func(p string, e os.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			unix.Fchmodat(unix.AT_FDCWD, p, 0o700, 0)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
