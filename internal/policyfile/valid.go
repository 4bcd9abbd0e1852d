package policyfile

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/ipaddr"
)

// The grammars of names, by hand: compiling six expressions takes longer than
// reading the policy does. A skill's name is that of its directory (the
// contract, discovery); the others are ours.

func policyName(s string) bool {
	return named(s, 64, isLower, func(c byte) bool { return isLower(c) || in(c, "._-") })
}

func interpreterName(s string) bool {
	return named(s, 32, func(c byte) bool { return c >= 'a' && c <= 'z' }, func(c byte) bool { return isLower(c) || in(c, "._+-") })
}

func skillName(s string) bool {
	return named(s, 64, isAlnum, func(c byte) bool { return isAlnum(c) || in(c, "._-") })
}

// versionText is one to four whole numbers of up to nine digits with dots.
func versionText(s string) bool {
	parts := strings.Split(s, ".")
	return len(parts) <= 4 && !slices.ContainsFunc(parts, func(p string) bool { return !named(p, 9, isDigit, isDigit) })
}

func sha256Text(s string) bool {
	return len(s) == 64 && named(s, 64, isHex, isHex)
}

func hostLabel(s string) bool {
	return named(s, 63, isAlnum, func(c byte) bool { return isAlnum(c) || c == '-' }) && s[len(s)-1] != '-'
}

// named reports whether s has 1 to most bytes, the first of one class and the
// others of another.
func named(s string, most int, first, rest func(byte) bool) bool {
	if s == "" || len(s) > most || !first(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !rest(s[i]) {
			return false
		}
	}
	return true
}

func in(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }
func isDigit(c byte) bool        { return c >= '0' && c <= '9' }
func isLetter(c byte) bool       { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isLower(c byte) bool        { return c >= 'a' && c <= 'z' || isDigit(c) }
func isAlnum(c byte) bool        { return isLetter(c) || isDigit(c) }
func isHex(c byte) bool          { return isDigit(c) || c >= 'a' && c <= 'f' }

// kernelTrees turn a permission to read into control over the process that
// reads: /proc/self/mem, /proc/self/root, /dev/fd. A run gets what it needs of
// them from the fence.
var kernelTrees = []string{"/proc", "/dev"}

// badTree returns why a path cannot be granted, or "".
func badTree(p string) string {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "is not an absolute path"
	case path.Clean(p) != p:
		return "is not in its shortest form: write " + path.Clean(p)
	case p == "/":
		return "is the whole system: name the directories that are needed"
	case strings.ContainsRune(p, 0):
		return "holds a NUL"
	}
	for _, t := range kernelTrees {
		if p == t || strings.HasPrefix(p, t+"/") {
			return "lies in " + t + ", which is the fence's own to give"
		}
	}
	return ""
}

// badHost returns why a text is no host pattern, or "": a name, or "*." before
// a name, which stands for every name below it.
func badHost(h string) string {
	name := strings.TrimPrefix(h, "*.")
	if strings.Contains(name, "*") {
		return `is not a host: a star stands only at the start, as "*."`
	}
	if len(name) == 0 || len(name) > 253 {
		return "is not a host name"
	}
	if _, ok := ipaddr.Parse(name); ok && name != h {
		return "puts a star before an address"
	}
	for _, l := range strings.Split(name, ".") {
		if !hostLabel(l) {
			return "is not a host name (no scheme, port, slash or underscore)"
		}
	}
	return ""
}

// badInternal returns why a text names no internal host: a host pattern or an
// IP address.
func badInternal(h string) string {
	if _, ok := ipaddr.Parse(h); ok {
		return ""
	}
	return badHost(h)
}

// absolute reports whether p is a clean absolute path of a file.
func absolute(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && p != "/" && !strings.ContainsRune(p, 0)
}

// hostPort reports whether s is ADDRESS:PORT.
func hostPort(s string) bool {
	_, port, ok := ipaddr.ParsePort(s)
	return ok && port != 0
}

// argument reports whether s can be an argument of a program.
func argument(s string) bool { return s != "" && len(s) <= 4096 && !strings.ContainsRune(s, 0) }

// assignment reports whether s is NAME=value with a name that may be set.
func assignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && grant.Identifier(name) && !grant.Reserved(name) && argument(s)
}

// secret reports whether s names a variable that may be handed over.
func secret(s string) bool { return grant.Identifier(s) && !grant.Reserved(s) }

// units are the suffixes of a size, largest first.
var units = []struct {
	suffix string
	factor int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// size reads a whole number with an optional unit: 134217728, 128MiB, 128 MiB.
func size(s string) (int64, bool) {
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, factor = strings.TrimRight(rest, " "), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor || strings.HasPrefix(s, "+") {
		return 0, false
	}
	return n * factor, true
}

// isBytes reports whether a limit is a size and takes a unit.
func isBytes(limit string) bool { return strings.HasSuffix(limit, "Bytes") }

// shippedNames are the policies inside the program, in the order of the help.
func shippedNames() []string { return []string{"hosted", "standalone", "portable", "strict"} }

// isShipped reports whether name is one of them.
func isShipped(name string) bool { return slices.Contains(shippedNames(), name) }
