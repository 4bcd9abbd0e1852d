package egress

import (
	"net/netip"
	"slices"
)

// internalSet is a parsed Config.Internal.
type internalSet struct {
	hosts    hostList
	prefixes []netip.Prefix
}

// allows says whether the owner lists this name, or this very address.
func (s internalSet) allows(name string, a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return s.hosts.HasName(name) || s.hosts.HasAddress(a) ||
		slices.ContainsFunc(s.prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
