package monitor

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// TestEveryWantOfDescriptorsIsAnAnswer takes descriptors away from a monitor,
// one more each time: wherever in a run the want is felt, the call is answered,
// and the next one with enough of them works.
func TestEveryWantOfDescriptorsIsAnAnswer(t *testing.T) {
	if os.Getuid() != 0 {
		return // nobody else may change the limits of a process that cannot be traced
	}
	s := serve(t, options{})
	req := s.script("true", "")
	for range 2 { // also waits for every question for a version
		s.run(req)
	}
	pid := s.cmd.Process.Pid
	var plenty unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &plenty); err != nil {
		t.Fatal(err)
	}
	least := tracesOf(pid).fds - 12 // a child that waits, and its descriptors, may be there
	served := 0
	for spare := range 28 {
		tight := unix.Rlimit{Cur: uint64(least + spare), Max: plenty.Max}
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &tight, nil); err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(within(t), req, nil, nil)
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &plenty, nil); err != nil {
			t.Fatal(err)
		}
		if err == nil && out.Verdict == report.Exited {
			served++
		}
		t.Logf("%d spare: %s %v", spare, out.Verdict, err)
		if out := s.run(req); out.Verdict != report.Exited {
			t.Fatalf("after a want of descriptors (%d spare): %+v", spare, out.Result)
		}
	}
	if served < 3 || served > 25 {
		t.Errorf("%d of 28 runs worked: the want was not felt where it was looked for", served)
	}
}
