package resource

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALimitThatNodeCannotStartWithIsNamed(t *testing.T) {
	const none, mib = unix.RLIM_INFINITY, 1 << 20
	for _, c := range []struct {
		major       int
		data, space uint64
		want        string
	}{
		{20, 256 * mib, none, ""},
		{22, 256 * mib, none, ""},
		{24, 256 * mib, none, "RLIMIT_DATA is limited to 256 MiB here and node 24 needs 567 MiB"},
		{26, 600 * mib, none, ""},
		{20, none, 700 * mib, "RLIMIT_AS is limited to 700 MiB here and node 20 needs 767 MiB"},
		{24, none, 1024 * mib, "needs 1151 MiB"},
		{20, 16 * mib, none, "needs 55 MiB"},
		{24, none, none, ""},
	} {
		if got := shortage(c.major, c.data, c.space); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("node %d, %d, %d: %q, want %q", c.major, c.data, c.space, got, c.want)
		}
	}
}
