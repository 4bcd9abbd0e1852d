package frontlock

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastCap bounds the search for capabilities; Linux 6.18 has 41.
const lastCap = 63

// The securebits of a process that never gets a right by being uid 0, locked
// (linux/securebits.h): NOROOT, KEEP_CAPS off, NO_CAP_AMBIENT_RAISE.
const secureLocked = 1<<0 | 1<<1 | 1<<5 | 1<<6 | 1<<7

// Drop turns the calling thread into id, without any capability and without a
// way back, and proves it. Capabilities that the thread does not have need no
// dropping: a plain user gets no_new_privs only.
//
// Precondition: the thread is locked (runtime.LockOSThread) and executes the
// front next, as /proc/self/exe since the new user may not be able to walk to
// the program; other threads of the process keep what they had and end there.
func Drop(id Identity, o Options) error {
	root := unix.Geteuid() == 0
	if root && !o.without(PartCaps) {
		if err := dropBounding(); err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureLocked, 0, 0, 0); err != nil {
			return fmt.Errorf("lock securebits: %w", err)
		}
	}
	if root && id.UID >= 0 && !o.without(PartUser) {
		if err := become(id); err != nil {
			return err
		}
	}
	if !o.without(PartCaps) {
		if err := clearCaps(); err != nil {
			return err
		}
	}
	if o.without(PartNNP) {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// dropBounding empties the bounding set, so that no file capability counts.
func dropBounding() error {
	for c := uintptr(0); c <= lastCap; c++ {
		in, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		if e == unix.EINVAL {
			return nil // the kernel has no more
		}
		if in == 0 {
			continue
		}
		if _, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); e != 0 {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, e)
		}
	}
	return nil
}

// become changes groups, group and user of this thread, in the order in which
// each is still allowed, and tries to come back.
func become(id Identity) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return fmt.Errorf("drop groups: %w", e)
	}
	g, u := uintptr(id.GID), uintptr(id.UID)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, g, g, g); e != 0 {
		return fmt.Errorf("become gid %d: %w", id.GID, e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, u, u, u); e != 0 {
		return fmt.Errorf("become uid %d: %w", id.UID, e)
	}
	if id.UID == 0 {
		return nil
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, 0, 0, 0); e == 0 {
		return fmt.Errorf("become uid %d: uid 0 could be taken back", id.UID)
	}
	return nil
}

// clearCaps empties the effective, permitted, inheritable and ambient sets of
// this thread and reads them back.
func clearCaps() error {
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0) // absent before 4.3
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, e := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); e != 0 {
		return fmt.Errorf("clear capabilities: %w", e)
	}
	if held, err := heldCaps(); err != nil || held {
		return fmt.Errorf("clear capabilities: some are still held (%v)", err)
	}
	return nil
}

// heldCaps reports whether this thread holds any capability.
func heldCaps() (bool, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now [2]unix.CapUserData
	if _, _, e := unix.RawSyscall(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&now[0])), 0); e != 0 {
		return false, fmt.Errorf("read capabilities: %w", e)
	}
	return now != [2]unix.CapUserData{}, nil
}
