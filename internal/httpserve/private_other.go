//go:build !unix

package httpserve

import "io/fs"

// private is not known from the mode on this system.
func private(fs.FileInfo) bool { return true }
