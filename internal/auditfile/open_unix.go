//go:build unix

package auditfile

import "syscall"

// noFollow also keeps the open from waiting for the reader of a FIFO.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
