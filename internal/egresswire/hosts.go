package egresswire

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxName is the longest DNS name in presentation form (RFC 1035, 2.3.4).
const maxName = 253

// CheckHost says whether an entry of Config.Hosts means something: a name,
// "*." and a name of at least two labels, or an address. A bare "*" does not:
// a list that lists everything is mode open, which the owner grants by name.
func CheckHost(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	name := CanonicalName(s)
	if base, wild := strings.CutPrefix(name, "*."); wild {
		if !strings.Contains(base, ".") {
			return fmt.Errorf("egress host %q: a wildcard needs a name of two labels", s)
		}
		name = base
	}
	if !ValidName(name) {
		return fmt.Errorf("egress host %q: not a name, *.name or address", s)
	}
	return nil
}

// CheckInternal says whether an entry of Config.Internal means something: what
// CheckHost accepts, or a prefix such as 10.1.0.0/16.
func CheckInternal(s string) error {
	if _, err := netip.ParsePrefix(s); err == nil {
		return nil
	}
	return CheckHost(s)
}

// CanonicalName is the one spelling a name is compared in: lower case, without
// a dot at the end. It does not check the name.
func CanonicalName(s string) string {
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

// ValidName says whether a canonical name can be a host: labels of letters,
// digits, hyphens and underscores, and a last label that is not a number. The
// last rule is what keeps 2852039166, 0xa9fea9fe and 169.254.43518 from being
// taken for names: the C library reads them as addresses.
func ValidName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if !validLabel(label) {
			return false
		}
		last = label
	}
	return !numeric(last)
}

func validLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// numeric is the test of the WHATWG URL standard, "ends in a number": digits,
// or 0x with hexadecimal digits or none.
func numeric(label string) bool {
	digits := "0123456789"
	if rest, hex := strings.CutPrefix(label, "0x"); hex {
		label, digits = "0"+rest, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}

// HostList is a parsed Config.Hosts.
type HostList struct {
	names     map[string]bool
	below     map[string]bool
	addresses map[netip.Addr]bool
}

// ParseHosts parses entries CheckHost accepts.
func ParseHosts(entries []string) (HostList, error) {
	l := HostList{map[string]bool{}, map[string]bool{}, map[netip.Addr]bool{}}
	for _, entry := range entries {
		if err := CheckHost(entry); err != nil {
			return HostList{}, err
		}
		if addr, err := netip.ParseAddr(entry); err == nil {
			l.addresses[addr.Unmap()] = true
			continue
		}
		name := CanonicalName(entry)
		if base, wild := strings.CutPrefix(name, "*."); wild {
			l.below[base] = true
			continue
		}
		l.names[name] = true
	}
	return l, nil
}

// HasName says whether a canonical name is listed, itself or by a wildcard.
func (l HostList) HasName(name string) bool {
	if !ValidName(name) {
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
func (l HostList) HasAddress(a netip.Addr) bool { return l.addresses[a.Unmap()] }

// Has says whether a host as a URL or a TLS server name has it is listed.
func (l HostList) Has(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return l.HasAddress(a)
	}
	return l.HasName(CanonicalName(host))
}

// Names lists the names without wildcards, in no order.
func (l HostList) Names() []string {
	out := make([]string, 0, len(l.names))
	for name := range l.names {
		out = append(out, name)
	}
	return out
}
