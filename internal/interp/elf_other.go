//go:build !linux

package interp

import "runtime"

// ExeSuffix ends the file name of a program.
var ExeSuffix = map[string]string{"windows": ".exe"}[runtime.GOOS]

// libraries is empty where no layer needs a list of files.
func libraries(string, []string) []string { return nil }
