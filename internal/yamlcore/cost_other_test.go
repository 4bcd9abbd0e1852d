//go:build !linux

package yamlcore

import "time"

// cost is the time that f takes.
func cost(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
