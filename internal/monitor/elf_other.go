//go:build !linux

package monitor

import "runtime"

// exeSuffix ends the file name of a program.
var exeSuffix = map[string]string{"windows": ".exe"}[runtime.GOOS]

// libraries is empty where no layer needs a list of files.
func libraries(string) []string { return nil }
