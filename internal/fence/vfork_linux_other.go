//go:build linux && !amd64

package fence

import "golang.org/x/sys/unix"

// shared are no flags: sharing the stack of a caller needs assembly.
const shared = 0

// vfork is clone; the child starts l and never returns.
//
//go:norace
func vfork(flags uintptr, l *launch) (errno uintptr) {
	pid, _, no := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if no == 0 && pid == 0 {
		l.start()
	}
	return uintptr(no)
}
