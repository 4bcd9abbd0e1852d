//go:build !linux

package sched

// Soon does nothing: the other systems have no such request.
func Soon() {}
