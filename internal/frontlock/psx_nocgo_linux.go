//go:build !cgo

package frontlock

// psxNeeds is empty here: the Go runtime reaches all threads by itself.
func psxNeeds() []string { return nil }
