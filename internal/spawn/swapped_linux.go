package spawn

import (
	"path"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
)

// A run may leave a link wherever it may write. A path of the owner's that goes
// through such a place leads where an earlier run wanted: what is granted is
// looked up anew for each run, as it changes under a server that lasts.

// file is what tells one file from another, whatever it is called: a folder may
// be mounted in two places.
type file struct{ dev, ino uint64 }

// writable gives the paths a run may write, and takes note of the folders they
// are.
func (b *builder) writable(s Spec) []policy.Path {
	writes := append([]policy.Path{}, s.Policy.Write...)
	if s.DataDir != "" {
		writes = append(writes, policy.Path{Path: s.DataDir})
	}
	for _, w := range writes {
		var st unix.Stat_t
		if unix.Stat(w.Path, &st) == nil {
			b.theirs[file{uint64(st.Dev), st.Ino}] = true
		}
	}
	return writes
}

// swapped reports whether a run may have put the link at this path: it lies in a
// folder that runs may write.
func (b *builder) swapped(link string) bool {
	for dir := path.Dir(link); len(b.theirs) > 0; dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Stat(dir, &st) == nil && b.theirs[file{uint64(st.Dev), st.Ino}] {
			return true
		}
		if dir == "/" || dir == "." {
			break
		}
	}
	return false
}
