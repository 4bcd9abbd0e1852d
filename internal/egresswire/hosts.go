package egresswire

import (
	"fmt"
	"strconv"
	"strings"

	"skill-mcp/internal/ipaddr"
)

// maxName is the longest DNS name in presentation form (RFC 1035, 2.3.4).
const maxName = 253

// CheckHost says whether an entry of Config.Hosts means something: a name,
// "*." and a name of at least two labels, or an address. A bare "*" does not:
// a list that lists everything is mode open, which the owner grants by name.
func CheckHost(s string) error {
	if _, ok := ipaddr.Parse(s); ok {
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
	if at, size, isPrefix := strings.Cut(s, "/"); isPrefix && prefix(at, size) {
		return nil
	}
	return CheckHost(s)
}

// prefix reads the two halves of an address prefix.
func prefix(address, size string) bool {
	a, ok := ipaddr.Parse(address)
	bits, err := strconv.ParseUint(size, 10, 8)
	most := uint64(128)
	if a.Is4 {
		most = 32
	}
	return ok && err == nil && bits <= most && strconv.FormatUint(bits, 10) == size
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
