package interp

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
)

// TestAWantThatPassesIsNotForEver: what could not be opened for want of
// descriptors is looked up again when there are some.
func TestAWantThatPassesIsNotForEver(t *testing.T) {
	var plenty unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &plenty); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	free := uint64(f.Fd()) // the next one that will be given
	f.Close()
	for _, spare := range []uint64{0, 1, 2, 3, 5, 7} {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: free + spare, Max: plenty.Max}); err != nil {
			t.Fatal(err)
		}
		i := New(policy.Interpreter{Name: "bash"}, "/usr/bin:/bin", nil)
		i.Ask(func(int) {})
		before := i.State(true)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &plenty); err != nil {
			t.Fatal(err)
		}
		if spare == 0 && !strings.Contains(before.Reason, "too many open files") {
			t.Errorf("without a descriptor: %+v", before)
		}
		i.Again(func(int) {})
		if s := i.State(true); s.Reason != "" || s.Version == "" || len(i.Program().Read) == 0 {
			t.Errorf("with enough again, after %d spare: %+v %+v", spare, s, i.Program())
		}
		known := i.known
		i.Again(func(int) {})
		if i.known != known {
			t.Error("an interpreter that was looked up in plenty is looked up again")
		}
		i.Close()
	}
}
