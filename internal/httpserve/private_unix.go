//go:build unix

package httpserve

import "io/fs"

// private reports whether only the owner may read or change the file.
func private(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
