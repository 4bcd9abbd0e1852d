package spawn

import (
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
)

// limitTable is what setrlimit gets. AS, DATA and RSS are left alone: V8
// reserves address space it does not use and dies or hangs under each.
func limitTable(l policy.Limits, timeout time.Duration, ownUID bool) []order.Rlimit {
	cpu := int64(timeout/time.Second) + 5 // a second line behind the wall clock
	rows := [][3]int64{
		{unix.RLIMIT_NOFILE, l.OpenFiles, l.OpenFiles},
		{unix.RLIMIT_FSIZE, l.FileBytes, l.FileBytes},
		{unix.RLIMIT_CORE, 1, 1}, // 0 does not stop a piped core pattern
		{unix.RLIMIT_STACK, l.StackBytes, l.StackBytes},
		{unix.RLIMIT_CPU, cpu, cpu + 2},
		{unix.RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
		{unix.RLIMIT_MSGQUEUE, 0, 0},
		{unix.RLIMIT_RTPRIO, 0, 0},
		{unix.RLIMIT_NICE, 0, 0},
		{unix.RLIMIT_SIGPENDING, 1024, 1024},
	}
	if ownUID { // counts every process of the uid, so never for the user's own
		rows = append(rows, [3]int64{unix.RLIMIT_NPROC, l.NProc, l.NProc})
	}
	out := []order.Rlimit{}
	for _, r := range rows {
		out = append(out, order.Rlimit{Resource: r[0], Soft: r[1], Hard: r[2]})
	}
	return out
}
