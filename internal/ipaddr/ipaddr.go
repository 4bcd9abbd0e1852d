// Package ipaddr reads numeric addresses for the launch phase. Package net/netip
// does the same, but with it the launch phase becomes ready after the protocol
// libraries (Go initialises by dependency, then by import path) and waits for
// their initialisation, half a node start. A fuzz target holds both equal.
package ipaddr

import (
	"strconv"
	"strings"
)

// Addr is an IP address in 16 bytes; an IPv4 one is mapped (RFC 4291, 2.5.5.2).
type Addr struct {
	Bytes [16]byte
	Is4   bool // written as IPv4
}

// Parse reads an address without zone. ok is false where netip.ParseAddr fails.
func Parse(s string) (a Addr, ok bool) {
	if !strings.Contains(s, ":") {
		a.Is4 = true
		a.Bytes[10], a.Bytes[11] = 0xff, 0xff
		return a, four(s, a.Bytes[12:])
	}
	head, tail, gap := strings.Cut(s, "::")
	left, ok := groups(head, !gap)
	if !ok {
		return Addr{}, false
	}
	if !gap {
		copy(a.Bytes[:], left)
		return a, len(left) == 16
	}
	right, ok := groups(tail, true)
	if !ok || len(left)+len(right) > 14 {
		return Addr{}, false
	}
	copy(a.Bytes[:], left)
	copy(a.Bytes[16-len(right):], right)
	return a, true
}

// ParsePort reads ADDRESS:PORT, an IPv6 address in brackets.
func ParsePort(s string) (a Addr, port int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Addr{}, 0, false
	}
	host, text := s[:i], s[i+1:]
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return Addr{}, 0, false
	}
	inner, bracket := strings.CutPrefix(host, "[")
	if bracket {
		if host, bracket = strings.CutSuffix(inner, "]"); !bracket {
			return Addr{}, 0, false
		}
	}
	a, ok = Parse(host)
	return a, int(n), ok && bracket != a.Is4
}

// four reads a dotted IPv4 address: four decimal numbers without leading zeros.
func four(s string, to []byte) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || (len(p) > 1 && p[0] == '0') {
			return false
		}
		to[i] = byte(n)
	}
	return true
}

// groups reads the groups of an IPv6 address on one side of "::". The last may
// be an IPv4 address where the address ends with it.
func groups(s string, last bool) ([]byte, bool) {
	if s == "" {
		return nil, true
	}
	var out []byte
	parts := strings.Split(s, ":")
	for i, p := range parts {
		if last && i == len(parts)-1 && strings.Contains(p, ".") {
			var v4 [4]byte
			if !four(p, v4[:]) {
				return nil, false
			}
			return append(out, v4[:]...), len(out) <= 12
		}
		n, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) > 4 {
			return nil, false
		}
		out = append(out, byte(n>>8), byte(n))
	}
	return out, len(out) <= 16
}
