package yamlcore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DecodeUTF8 gives the text of bytes. What is not UTF-8 becomes U+FFFD, one
// for each longest start of a character that is cut short, as browsers and
// node do (Unicode 15, section 3.9, "substitution of maximal subparts").
func DecodeUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			out.WriteRune(utf8.RuneError)
			b = b[subpart(b):]
			continue
		}
		out.Write(b[:n])
		b = b[n:]
	}
	return out.String()
}

// subpart gives the length of the longest start of a character at b[0], at
// least 1. Precondition: b does not begin with a whole character.
func subpart(b []byte) int {
	lo, hi, want := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 2
	case c >= 0xE0 && c <= 0xEF:
		want = 3
		if c == 0xE0 {
			lo = 0xA0
		}
		if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		want = 4
		if c == 0xF0 {
			lo = 0x90
		}
		if c == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for n < want && n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}

// prepare gives the text to parse: UTF-8, without a leading byte order mark,
// every line end a LF. Columns do not change by it. A CR that ends no line is
// kept: it is no line end to the parser that is the measure here.
func prepare(src []byte) string {
	s := strings.TrimPrefix(DecodeUTF8(src), "\uFEFF")
	if strings.Contains(s, "\r\n") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

// checkControls refuses the characters that YAML 1.2 forbids and that hide
// things from a reader: C0 controls but tab, LF and CR, and DEL.
func (p *parser) checkControls() error {
	line, start := 0, 0
	for i := 0; i < len(p.s); i++ {
		c := p.s[i]
		switch {
		case c == '\n':
			line, start = line+1, i+1
		case c < 0x20 && c != '\t' && c != '\r' || c == 0x7F:
			return p.errorAt(mark{i, line, start}, fmt.Sprintf("control character U+%04X", c), "remove it")
		}
	}
	return nil
}
