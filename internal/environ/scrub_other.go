//go:build !linux

package environ

import "skill-mcp/internal/wire"

// Scrub has nothing to wipe where there is no /proc.
func Scrub() wire.Scrub { return wire.Scrub{State: Unsupported} }
