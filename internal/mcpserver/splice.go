package mcpserver

import (
	"fmt"
	"strings"
)

// Texts of megabytes (files, the output of scripts) are written into a result
// once, into memory of the right size: encoding/json would grow a buffer by
// doubling, copy it, and keep it for the next call. The rest of the result is
// encoded with empty texts in their places, and the texts go in between.

// spliced replaces each of the empty members, in order, by the member with its
// text. A member is written as `"key":""`; inside a JSON string its quotes
// would be escaped, so it can be found by searching.
func spliced(shell string, keys, texts []string) (string, error) {
	size := len(shell)
	for _, t := range texts {
		size += escapedLen(t)
	}
	var b strings.Builder
	b.Grow(size)
	for i, k := range keys {
		head, tail, ok := strings.Cut(shell, `"`+k+`":""`)
		if !ok {
			return "", fmt.Errorf("encode the result: no place for %s", k)
		}
		b.WriteString(head)
		b.WriteString(`"` + k + `":"`)
		writeEscaped(&b, texts[i])
		b.WriteByte('"')
		shell = tail
	}
	b.WriteString(shell)
	return b.String(), nil
}

// escapedLen is how many bytes writeEscaped writes.
func escapedLen(s string) int {
	n := len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= ' ' && c != '"' && c != '\\' && c != separator:
		case c == separator:
			if isSeparator(s[i:]) {
				n += 3
			}
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			n++
		default:
			n += 5
		}
	}
	return n
}

// separator is the first byte of U+2028 and U+2029, which encoding/json
// escapes because JavaScript once took them for line ends.
const separator = 0xe2

func isSeparator(s string) bool {
	return strings.HasPrefix(s, "\u2028") || strings.HasPrefix(s, "\u2029")
}

// writeEscaped writes s as the inside of a JSON string, as encoding/json does
// without HTML escapes. Precondition: s is UTF-8.
func writeEscaped(b *strings.Builder, s string) {
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (c != separator || !isSeparator(s[i:])) {
			continue
		}
		b.WriteString(s[start:i])
		start = i + 1
		switch c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case separator:
			b.WriteString(`\u202`)
			b.WriteByte('8' + s[i+2]&1)
			i += 2
			start = i + 1
		default:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	b.WriteString(s[start:])
}
