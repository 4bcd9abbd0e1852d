package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Native is the architecture this process runs on, 0 where the table has no
// numbers for it.
func Native() Arch {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64
	case "arm64":
		return ARM64
	}
	return 0
}

// Load installs the program on the calling thread, or on all threads of the
// process with flag unix.SECCOMP_FILTER_FLAG_TSYNC. It cannot be undone.
//
// Precondition: no_new_privs is set, or the thread has CAP_SYS_ADMIN.
func Load(p []Instruction, flags uint) error {
	if len(p) == 0 || len(p) > maxInstructions {
		return fmt.Errorf("load seccomp filter of %d instructions: %w", len(p), unix.EINVAL)
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: (*unix.SockFilter)(unsafe.Pointer(&p[0]))}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("load seccomp filter: %w", errno)
	}
	if r != 0 { // TSYNC names the thread that could not follow
		return fmt.Errorf("load seccomp filter: thread %d has another filter: %w", r, unix.EBUSY)
	}
	return nil
}
