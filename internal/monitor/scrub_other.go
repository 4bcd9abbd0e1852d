//go:build !linux

package monitor

import "skill-mcp/internal/wire"

// scrub has nothing to wipe where there is no /proc.
func scrub() wire.Scrub { return wire.Scrub{State: unsupported} }

// harden has no counterpart here; the report says so layer by layer.
func harden() error { return nil }
