package egress

import (
	"net/netip"
	"strings"

	"skill-mcp/internal/egresswire"
)

// hostList is a parsed Config.Hosts.
type hostList struct {
	names     map[string]bool
	below     map[string]bool
	addresses map[netip.Addr]bool
}

// parseHosts parses entries CheckHost accepts.
func parseHosts(entries []string) (hostList, error) {
	l := hostList{map[string]bool{}, map[string]bool{}, map[netip.Addr]bool{}}
	for _, entry := range entries {
		if err := egresswire.CheckHost(entry); err != nil {
			return hostList{}, err
		}
		if addr, err := netip.ParseAddr(entry); err == nil {
			l.addresses[addr.Unmap()] = true
			continue
		}
		name := egresswire.CanonicalName(entry)
		if base, wild := strings.CutPrefix(name, "*."); wild {
			l.below[base] = true
			continue
		}
		l.names[name] = true
	}
	return l, nil
}

// HasName says whether a canonical name is listed, itself or by a wildcard.
func (l hostList) HasName(name string) bool {
	if !egresswire.ValidName(name) {
		return false
	}
	if l.names[name] {
		return true
	}
	for {
		_, parent, found := strings.Cut(name, ".")
		if !found {
			return false
		}
		if l.below[parent] {
			return true
		}
		name = parent
	}
}

// HasAddress says whether an address is listed as such.
func (l hostList) HasAddress(a netip.Addr) bool { return l.addresses[a.Unmap()] }

// Has says whether a host as a URL or a TLS server name has it is listed.
func (l hostList) Has(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return l.HasAddress(a)
	}
	return l.HasName(egresswire.CanonicalName(host))
}
