//go:build !linux

package monitor

import "os"

// pipe makes a pipe of the system's size.
func pipe() (r, w *os.File, err error) { return os.Pipe() }
