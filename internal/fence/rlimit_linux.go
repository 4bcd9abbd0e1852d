package fence

import (
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
)

// niceness makes a run lose against the server and the user's programs, where
// no control group bounds its share.
const niceness = 5

// securebits: root means nothing, sets are not changed by uid changes, no
// ambient capabilities; each locked (linux/securebits.h, bits 0 to 7 without
// KEEP_CAPS itself).
const securebits = 0xef

// limitTable is what setrlimit gets. AS, DATA and RSS are left alone: V8
// reserves address space it does not use and dies or hangs under each.
func limitTable(l policy.Limits, timeout time.Duration, ownUID bool) []rlimit {
	cpu := int64(timeout/time.Second) + 5 // a second line behind the wall clock
	out := []rlimit{
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
		out = append(out, rlimit{unix.RLIMIT_NPROC, l.NProc, l.NProc})
	}
	return out
}
