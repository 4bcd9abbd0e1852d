package yamlcore

import (
	"runtime"
	"syscall"
	"time"
)

// cost is the processor's time that f takes on its own thread: other work on
// the machine adds nothing to it.
func cost(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const ownThread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(ownThread, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	f()
	return used() - start
}
