package resource

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Raise takes back the limits on address space that a host set for
// the server, where it may: an interpreter reserves far more than it uses and
// dies under them. Memory is bounded by the control group instead.
func Raise() {
	for _, r := range []int{unix.RLIMIT_DATA, unix.RLIMIT_AS, unix.RLIMIT_RSS} {
		var now unix.Rlimit
		if unix.Getrlimit(r, &now) != nil || now.Cur == unix.RLIM_INFINITY {
			continue
		}
		if unix.Setrlimit(r, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}) != nil {
			_ = unix.Setrlimit(r, &unix.Rlimit{Cur: now.Max, Max: now.Max})
		}
	}
}

// TooLittle says which inherited limit the interpreter cannot start with, and
// what it needs; "" when none is in its way. It aborts at start otherwise.
func TooLittle(name, version string) string {
	var data, space unix.Rlimit
	if name != "node" || unix.Getrlimit(unix.RLIMIT_DATA, &data) != nil || unix.Getrlimit(unix.RLIMIT_AS, &space) != nil {
		return ""
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return ""
	}
	return shortage(n, data.Cur, space.Cur)
}

// shortage compares the limits, in bytes, with what a major version of node
// needs to start (measured: fence specification, section 15).
func shortage(major int, data, space uint64) string {
	const mib = 1 << 20
	needData, needSpace := uint64(55*mib), uint64(767*mib)
	if major >= 24 {
		needData, needSpace = 567*mib, 1151*mib
	}
	for _, l := range []struct {
		name      string
		has, need uint64
	}{{"RLIMIT_DATA", data, needData}, {"RLIMIT_AS", space, needSpace}} {
		if l.has < l.need {
			return fmt.Sprintf("%s is limited to %d MiB here and node %d needs %d MiB to start", l.name, l.has/mib, major, l.need/mib)
		}
	}
	return ""
}
