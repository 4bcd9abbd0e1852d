//go:build unix

package main

import (
	"os"
	"syscall"
)

// reloadSignals make the server read its skills again.
var reloadSignals = []os.Signal{syscall.SIGHUP}
