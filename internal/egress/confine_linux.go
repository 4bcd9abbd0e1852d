package egress

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"skill-mcp/internal/egresswire"
)

// nobody is what a process started as root becomes when it is given no id: an
// id that owns no file.
const nobody = 65534

// confine takes from the process what it will not need. Nothing of the run has
// been read before it, and nothing is after it failed.
func confine(c egresswire.Config) (egresswire.Ready, error) {
	steps := []struct {
		what string
		do   func() error
	}{
		{"not dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"limits", func() error { return limit(c.Limits.WithDefaults()) }},
		{"uid", func() error { return becomeNobody(c.UID, c.GID) }},
		// Again: a change of user sets it to what the system's default is.
		{"not dumpable", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return egresswire.Ready{}, fmt.Errorf("%s: %w", s.what, err)
		}
	}
	abi, err := restrictLandlock(c)
	if err != nil {
		return egresswire.Ready{}, fmt.Errorf("landlock: %w", err)
	}
	filtered, err := loadFilter()
	if err != nil {
		return egresswire.Ready{}, fmt.Errorf("seccomp: %w", err)
	}
	return egresswire.Ready{UID: os.Getuid(), LandlockABI: abi, Seccomp: filtered}, nil
}

// limit sets what the kernel holds the process to. The memory limit of the Go
// runtime is a wish, that of the data segment a wall: past it the process ends
// and the run has no network.
func limit(l egresswire.Limits) error {
	debug.SetMemoryLimit(l.MemoryBytes)
	files := uint64(4*(l.Connections+l.HalfOpen) + 64) // two each, two more while one ends
	data := uint64(l.MemoryBytes)*2 + 64<<20           // garbage of one cycle, and the runtime's own
	rows := []struct {
		what     int
		soft, up uint64
	}{
		{unix.RLIMIT_NOFILE, files, files},
		{unix.RLIMIT_DATA, data, data},
		{unix.RLIMIT_CORE, 0, 0},
		{unix.RLIMIT_FSIZE, 0, 0},
		{unix.RLIMIT_MEMLOCK, 0, 0},
	}
	for _, r := range rows {
		var old unix.Rlimit
		if err := unix.Getrlimit(r.what, &old); err != nil {
			return fmt.Errorf("read limit %d: %w", r.what, err)
		}
		set := syscall.Rlimit{Cur: min(r.soft, old.Max), Max: min(r.up, old.Max)}
		// The one of package syscall: it tells the runtime, which would else put
		// the number of files back.
		if err := syscall.Setrlimit(r.what, &set); err != nil {
			return fmt.Errorf("set limit %d to %d: %w", r.what, set.Cur, err)
		}
	}
	return nil
}

// becomeNobody gives up root for good. A process that was not started as root,
// or whose user namespace has no other user, keeps its user and gives up its
// capabilities. All of it holds for every thread.
func becomeNobody(uid, gid int) error {
	if os.Geteuid() != 0 {
		return dropCapabilities()
	}
	uid, gid = cmp.Or(uid, nobody), cmp.Or(gid, nobody)
	// EPERM: a user namespace of a plain user may not change its groups, and
	// has none to leave.
	if err := syscall.Setgroups(nil); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("leave groups: %w", err)
	}
	err := syscall.Setresgid(gid, gid, gid)
	if errors.Is(err, unix.EINVAL) { // not mapped
		return dropCapabilities()
	}
	if err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	if err := syscall.Setuid(0); err == nil {
		return errors.New("user 0 could be taken back")
	}
	return nil
}

// dropCapabilities empties the sets of every thread.
func dropCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}
