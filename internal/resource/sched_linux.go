package resource

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slice is what the threads of this process ask for at a time, the least that
// Linux takes (6.12 and later; earlier ones leave it unread). It is no share
// more: what comes earlier ends earlier.
const slice = 100 * time.Microsecond

// Soon has the kernel run this process soon rather than long: a deadline, an
// answer and the next step of a set-up should not wait behind programs that
// compute. All threads get short slices, and with them those that they start,
// in this process and in others. A kernel or a filter that refuses it leaves
// everything as it was: nothing but time depends on it.
func Soon() {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil || attr.Policy != unix.SCHED_NORMAL {
			continue
		}
		attr.Runtime = uint64(slice)
		unix.SchedSetAttr(tid, attr, 0) // refused: as it was
	}
}

// Usual gives the attributes that the calling thread would have without Soon:
// for a program that is none of ours. Nil means that nothing can be set.
func Usual() *unix.SchedAttr {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return nil
	}
	attr.Runtime = 0
	return attr
}
