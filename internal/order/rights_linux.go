package order

import "golang.org/x/sys/unix"

// NewestABI is the last Landlock ABI whose rights are known here (Linux 7.1).
// A newer kernel is used as this one.
const NewestABI = 9

// Rights of a path rule, by what the path is for.
const (
	AccessRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	AccessExec = AccessRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	AccessDev  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	// AccessWrite has no EXECUTE: what runs is what was approved, and no devices.
	AccessWrite = AccessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE | AccessResolve
	AccessResolve = 1 << 16 // LANDLOCK_ACCESS_FS_RESOLVE_UNIX, ABI 9
)
