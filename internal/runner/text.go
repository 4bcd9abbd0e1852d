package runner

import (
	"strings"
	"unicode/utf8"
)

// Text makes captured bytes into text. When the capture was cut, an incomplete
// character at its end is dropped, so that the cut never splits one. Other
// bytes that are not UTF-8 become U+FFFD, one for each maximal part of a
// character, as the WHATWG decoder does.
func Text(b []byte, cut bool) string {
	if cut {
		b = whole(b)
	}
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = invalid(b)
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

// whole drops an incomplete character from the end of b.
func whole(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// invalid gives how many bytes at the start of b are one broken character.
func invalid(b []byte) int {
	n := 1
	for n < len(b) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return n
}
