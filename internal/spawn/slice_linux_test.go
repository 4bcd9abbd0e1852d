package spawn

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/resource"
)

// TestTheScriptHasTheUsualSlices: the helper's short ones are no script's.
func TestTheScriptHasTheUsualSlices(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetAttr(0, resource.Usual(), 0); err != nil { // an earlier test may have asked for short ones
		t.Fatal(err)
	}
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	resource.Soon()
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil || (own.Runtime == usual.Runtime && usual.Runtime != 0) {
		t.Fatalf("slices of the helper: %+v, %v", own, err)
	}
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	s.Args = []string{"sleep:60000"}
	r, out := start(t, h, s)
	defer out.Close()
	got, err := unix.SchedGetAttr(r.Pid(), 0)
	if err != nil || got.Runtime != usual.Runtime || got.Policy != usual.Policy {
		t.Errorf("slices of the script: %+v, want as %+v, %v", got, usual, err)
	}
	r.Kill(5 * time.Second)
	r.Close()
}
