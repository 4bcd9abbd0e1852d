// Package jsontext writes the inside of JSON strings, eight bytes at a time.
//
// Texts of megabytes are most of what this server sends: a file is a string in
// a tool's answer, and the answer is itself a string in a message, so its text
// is escaped twice. Here that is one pass, into memory of the right size. The
// package knows strings alone; whoever writes objects may call it.
package jsontext

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// AppendEscaped appends s as the inside of a JSON string, as encoding/json
// writes it without HTML escapes. Precondition: s is UTF-8.
func AppendEscaped(dst []byte, s string) []byte { return appendWith(dst, s, &once) }

// AppendTwice appends what AppendEscaped makes of what it makes of s: the text
// of a member of an object that is sent as a string. Precondition: s is UTF-8.
func AppendTwice(dst []byte, s string) []byte { return appendWith(dst, s, &twice) }

// Lengths gives how many bytes AppendEscaped and AppendTwice append for s.
func Lengths(s string) (escapedOnce, escapedTwice int) {
	var more growth
	i := 0
	for ; i+8 <= len(s); i += 8 {
		for m := marks(load(s, i)); m != 0; m &= m - 1 {
			more = more.plus(s, i+bits.TrailingZeros64(m)>>3)
		}
	}
	for ; i < len(s); i++ {
		more = more.plus(s, i)
	}
	return len(s) + int(more&(1<<32-1)), len(s) + int(more>>32)
}

// growth is by how much a text grows: escaped once in the lower half, twice in
// the upper. Texts are far below the 682 MiB of control characters, each six
// bytes longer when escaped twice, at which the upper would overflow.
type growth uint64

func (g growth) plus(s string, i int) growth {
	if c := s[i]; c != separator {
		return g + growths[c]
	}
	if isSeparator(s, i) {
		return g + 3 + 4<<32
	}
	return g
}

// separator is the first byte of U+2028 and U+2029, which encoding/json
// escapes because JavaScript once took them for line ends.
const separator = 0xe2

func isSeparator(s string, i int) bool {
	return i+2 < len(s) && s[i] == separator && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8
}

// sequence is what is written for one byte: its first n bytes, in the order of
// a little-endian word.
type sequence struct {
	word uint64
	n    int
}

// The sequences for each byte, and by how much the byte grows.
var (
	once    = sequences(func(s string) string { return s })
	twice   = sequences(doubled)
	growths = growing()
)

// doubled escapes the quotes and backslashes of an escape.
func doubled(escape string) string {
	var out []byte
	for _, c := range []byte(escape) {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}

func sequences(of func(string) string) (all [256]sequence) {
	for c := range all {
		text := of(escapeOf(byte(c)))
		var word [8]byte
		all[c].n = copy(word[:], text)
		all[c].word = binary.LittleEndian.Uint64(word[:])
	}
	return all
}

func growing() (all [256]growth) {
	for c := range all {
		all[c] = growth(once[c].n-1) + growth(twice[c].n-1)<<32
	}
	return all
}

// escapeOf gives a byte as it stands in a JSON string.
func escapeOf(c byte) string {
	switch {
	case c == '"' || c == '\\':
		return string([]byte{'\\', c})
	case c == '\n':
		return `\n`
	case c == '\r':
		return `\r`
	case c == '\t':
		return `\t`
	case c == '\b':
		return `\b`
	case c == '\f':
		return `\f`
	case c < ' ':
		const hex = "0123456789abcdef"
		return string([]byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&15]})
	}
	return string([]byte{c})
}

// marks sets the top bit of each byte of a word that is a control, a quote, a
// backslash or the first of a separator. Above the lowest mark there may be
// false ones (a subtraction borrows), which grow by nothing.
func marks(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, back, sep := w^ones*'"', w^ones*'\\', w^ones*separator
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (back-ones)&^back | (sep-ones)&^sep) & tops
}

// load gives eight bytes of s as a little-endian word.
func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// Slack is what the memory that is appended to needs beyond the result, so that
// whole words can be written: less and it is grown.
const Slack = 16

// appendWith copies word by word. A word with something to escape in it is
// written whole all the same, and what follows is written over its rest.
func appendWith(dst []byte, s string, table *[256]sequence) []byte {
	n := len(dst)
	dst = dst[:cap(dst)]
	for i := 0; i < len(s); {
		if len(dst)-n < Slack {
			dst = slices.Grow(dst[:n], len(s)-i+Slack)
			dst = dst[:cap(dst)]
		}
		if i+8 <= len(s) {
			w := load(s, i)
			binary.LittleEndian.PutUint64(dst[n:], w)
			m := marks(w)
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			skip := bits.TrailingZeros64(m) >> 3
			i, n = i+skip, n+skip
		}
		c := s[i]
		if c == separator && isSeparator(s, i) {
			n += putSeparator(dst[n:], s[i+2], table)
			i += 3
			continue
		}
		binary.LittleEndian.PutUint64(dst[n:], table[c].word)
		n += table[c].n
		i++
	}
	return dst[:n]
}

// putSeparator writes the escape of U+2028 or U+2029, by its last byte.
func putSeparator(dst []byte, last byte, table *[256]sequence) int {
	n := copy(dst, `\`)
	if table == &twice {
		n += copy(dst[n:], `\`)
	}
	n += copy(dst[n:], `u202`)
	dst[n] = '8' + last&1
	return n + 1
}
