package fence

import "golang.org/x/sys/unix"

// shared are the flags of a fork that copies nothing: the caller waits for the
// execve.
const shared = unix.CLONE_VM | unix.CLONE_VFORK

// vfork is clone; the child runs leader and never returns.
//
//go:noescape
func vfork(flags uintptr, l *launch) (errno uintptr)

// leader is where the child of vfork goes on.
//
//go:nosplit
//go:norace
//lint:ignore U1000 the assembly calls it
func leader(l *launch) { l.start() }
