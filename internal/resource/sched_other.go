//go:build !linux

package resource

// Soon does nothing: the other systems have no such request.
func Soon() {}
