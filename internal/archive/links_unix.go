//go:build unix

package archive

import (
	"io/fs"
	"syscall"
)

// links is the number of names a file has on its disk.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
