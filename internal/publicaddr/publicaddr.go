// Package publicaddr tells addresses that anyone may reach from those that lead
// into somebody's own network, and reads addresses behind odd spellings.
//
// It decides and does nothing: it neither resolves nor dials. The egress
// process asks it of every address before it dials, and `skill-mcp check` of
// what an author declares. The helper does not link it.
package publicaddr

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"
)

// special lists what is not a public unicast address, each with the word the
// evidence uses. Sources: the IANA special-purpose address registries (RFC
// 6890). The documentation prefixes are left out: nothing answers there, and
// tests need addresses that count as public.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this-network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared"}, // carrier-grade NAT; 100.100.100.200 is a metadata service
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata"}, // a cloud's host agent, on a public address
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"}, // 169.254.169.254 is the metadata service
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol"}, // 192.0.0.192 is a metadata service
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"}, // a run's own names
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"}, // and 255.255.255.255
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "nat64"}, // local use: it leads into a private network
	{netip.MustParsePrefix("2001::/23"), "protocol"},   // Teredo, ORCHID, benchmarking
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "private"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

var (
	// globalUnicast is all of IPv6 that is handed out (RFC 4291, 2.4).
	globalUnicast = netip.MustParsePrefix("2000::/3")
	// nat64 is the well-known prefix of RFC 6052: the last four bytes are the
	// IPv4 address that is reached.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// Not says what kind of address a is when it is not public, else "". An
// address that carries an IPv4 address is what that one is.
func Not(a netip.Addr) string {
	if !a.IsValid() {
		return "invalid"
	}
	a = a.WithZone("").Unmap()
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	if a.Is4() {
		return ""
	}
	if nat64.Contains(a) {
		return Not(lastFour(a))
	}
	if !globalUnicast.Contains(a) {
		return "reserved"
	}
	if isatap(a) {
		return Not(lastFour(a))
	}
	return ""
}

// lastFour is the IPv4 address in the last four bytes.
func lastFour(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// isatap says whether the interface identifier is that of RFC 5214, 6.1.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// Spelled reads the spellings of an IPv4 address that the C library and
// browsers take beside the dotted one (inet_aton(3), the IPv4 parser of the
// WHATWG URL standard): one to four numbers, each decimal, octal behind a 0 or
// hexadecimal behind 0x, the last of which fills what is left. The dotted
// spelling is not among them. What has none is a name or nothing.
func Spelled(host string) (netip.Addr, bool) {
	if _, err := netip.ParseAddr(host); err == nil {
		return netip.Addr{}, false
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		room := 8
		if i == len(parts)-1 {
			room = 8 * (5 - len(parts))
		}
		n, ok := number(part)
		if !ok || n >= 1<<room {
			return netip.Addr{}, false
		}
		value = value<<room | n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(value)))), true
}

// number reads one part of an address.
func number(s string) (uint64, bool) {
	base := 10
	switch lower := strings.ToLower(s); {
	case strings.HasPrefix(lower, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" && base == 16 { // 0x alone is 0
		return 0, true
	}
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil
}
