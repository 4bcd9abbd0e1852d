package resource

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSoonAndUsual: short slices for every thread from now on, and the kernel's
// own for whoever takes what Usual gives.
func TestSoonAndUsual(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	Soon()
	if first.Runtime == 0 { // before Linux 6.12 there are no slices, and nothing changes
		if now, err := unix.SchedGetAttr(0, 0); err != nil || *now != *first {
			t.Errorf("without slices: %+v, before %+v, %v", now, first, err)
		}
		return
	}
	if now, err := unix.SchedGetAttr(0, 0); err != nil || now.Runtime != uint64(slice) {
		t.Errorf("after Soon: %+v, %v", now, err)
	}
	later := make(chan uint64)
	go func() {
		runtime.LockOSThread() // not unlocked: a thread of its own, which ends
		now, _ := unix.SchedGetAttr(0, 0)
		later <- now.Runtime
	}()
	if got := <-later; got != uint64(slice) {
		t.Errorf("a later thread has slices of %d ns", got)
	}
	if err := unix.SchedSetAttr(0, Usual(), 0); err != nil {
		t.Fatal(err)
	}
	if now, err := unix.SchedGetAttr(0, 0); err != nil || now.Runtime != first.Runtime || now.Nice != first.Nice {
		t.Errorf("with the usual attributes: %+v, before %+v, %v", now, first, err)
	}
}
