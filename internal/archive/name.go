package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxNameBytes    = 1024 // a path longer than this fails on some system it is unpacked on
	maxSegmentBytes = 255  // the length of one name on every file system in use
)

// CheckName gives nil for a path that is safe to create on Linux, macOS and
// Windows below a folder, and the fault otherwise. The name is a slash
// separated path without a slash at its end. It is never cleaned: a name that
// needs cleaning hides an intent.
func CheckName(unsafeName string) *Problem {
	if plainName(unsafeName) {
		return nil
	}
	if p := checkWhole(unsafeName); p != nil {
		return p.at(unsafeName)
	}
	for segment := range strings.SplitSeq(unsafeName, "/") {
		if p := checkSegment(segment); p != nil {
			return p.at(unsafeName)
		}
	}
	return nil
}

// plainName answers for nearly every name in one pass: letters, digits and a
// few signs in ASCII. What it does not know, the careful checks decide.
func plainName(name string) bool {
	start := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '/':
			if !plainSegment(name[start:i]) {
				return false
			}
			start = i + 1
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return len(name) <= maxNameBytes && plainSegment(name[start:])
}

func plainSegment(segment string) bool {
	n := len(segment)
	return n > 0 && n <= maxSegmentBytes && segment[n-1] != '.' && deviceName(segment) == ""
}

func checkWhole(name string) *Problem {
	switch {
	case name == "":
		return fault(PathInvalid, "the name is empty")
	case len(name) > maxNameBytes:
		return over(PathInvalid, "the name is too long", int64(len(name)), maxNameBytes, "bytes")
	case !utf8.ValidString(name):
		return fault(PathInvalid, "the name is not UTF-8")
	case len(name) >= 2 && name[1] == ':' && isLetter(name[0]):
		return fault(PathDrive, "the name begins with a drive letter")
	case strings.Contains(name, `\`):
		return fault(PathBackslash, "the name holds a backslash")
	case name[0] == '/':
		return fault(PathAbsolute, "the name begins at the root")
	}
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func checkSegment(segment string) *Problem {
	switch {
	case segment == "", segment == ".", segment == "..":
		return fault(PathTraversal, "the name holds the part %q", segment)
	case len(segment) > maxSegmentBytes:
		return over(PathInvalid, "a part of the name is too long", int64(len(segment)), maxSegmentBytes, "bytes")
	case strings.HasSuffix(segment, "."), strings.HasSuffix(segment, " "):
		return fault(PathInvalid, "a part of the name ends with a dot or a blank")
	}
	for _, r := range segment {
		if forbiddenRune(r) {
			return fault(PathInvalid, "the name holds the character %s", runeName(r))
		}
	}
	if device := deviceName(segment); device != "" {
		return fault(PathReserved, "%s is a device name on Windows", device)
	}
	return nil
}

// forbiddenRune: characters a person cannot see or a file system gives a
// meaning to. Format characters (Cf) turn text around or hide it.
func forbiddenRune(r rune) bool {
	if r < utf8.RuneSelf { // nearly every character of nearly every name
		return r < ' ' || r == 0x7f || strings.IndexByte(`:*?"<>|\`, byte(r)) >= 0
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func runeName(r rune) string {
	if r > ' ' && r < 0x7f {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// deviceName gives the Windows device that a segment opens, or "". The segment
// is not empty. Windows
// looks at the part before the first dot and drops blanks at its end, and takes
// the superscripts one to three for digits.
func deviceName(segment string) string {
	switch segment[0] | 0x20 {
	case 'c', 'p', 'a', 'n', 'l':
	default:
		return ""
	}
	stem, _, _ := strings.Cut(segment, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return stem
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	if ok && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port) {
		return stem
	}
	return ""
}

// Key is the name as a file system that ignores case and normalisation sees
// it: NFC, full case folding, NFC. Two paths with one key are one file on some
// system.
func Key(name string) string {
	if lower, ok := asciiLower(name); ok {
		return lower
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

func asciiLower(s string) (string, bool) {
	upper := false
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
		upper = upper || s[i] >= 'A' && s[i] <= 'Z'
	}
	if !upper {
		return s, true
	}
	return strings.ToLower(s), true
}

// maxShown keeps a hostile name from filling a person's screen.
const maxShown = 200

// Shown is any text made safe to print on a terminal: quoted, with control,
// format and other invisible characters and broken UTF-8 as escapes, cut at
// about 200 bytes.
func Shown(unsafeText string) string {
	if len(unsafeText) <= maxShown && isPlain(unsafeText) {
		return `"` + unsafeText + `"`
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range unsafeText {
		if b.Len() > maxShown {
			b.WriteString("…")
			break
		}
		_, size := utf8.DecodeRuneInString(unsafeText[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, unsafeText[i])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPlain: ASCII that is shown as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
