//go:build !linux

package stdio

import "os"

// TakeStdout keeps the real standard output for messages and points os.Stdout
// at standard error. Code that writes to descriptor 1 itself is not stopped on
// this system.
func TakeStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
