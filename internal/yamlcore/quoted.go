package yamlcore

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads the scalar in quotes at i, which belongs to a parent indented
// by n: each of its lines must be indented more.
func (p *parser) quoted(n int) (*Node, error) {
	begin := p.here()
	q := quotedText{quote: p.s[p.i], begin: begin}
	p.i++
	for {
		from := p.i
		for !p.end() && p.s[p.i] != q.quote && p.s[p.i] != '\n' && (p.s[p.i] != '\\' || q.quote == '\'') {
			p.i++
		}
		q.out = append(q.out, p.s[from:p.i]...)
		if p.end() {
			return nil, p.errorAt(begin, "a quote that is never closed", "close it, or put the whole value in the other kind of quotes")
		}
		var err error
		switch {
		case p.s[p.i] == '\n':
			err = p.quotedLines(n, &q)
		case p.s[p.i] == '\\':
			err = p.escape(n, &q)
		case q.quote == '\'' && p.peek(1) == '\'':
			p.i += 2
			q.out = append(q.out, '\'')
		default:
			p.i++
			return p.quotedNode(&q), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// quotedText is the value of a quoted scalar so far.
type quotedText struct {
	quote byte
	begin mark
	out   []byte
	kept  int // how much of out is escaped or folded already, and not trimmed
}

func (p *parser) quotedNode(q *quotedText) *Node {
	style := SingleQuoted
	if q.quote == '"' {
		style = DoubleQuoted
	}
	node := p.node(q.begin, String, style)
	node.Raw = p.s[q.begin.off:p.i]
	node.Text = string(q.out)
	return node
}

// quotedLines folds the line end at i and goes on to the next content.
func (p *parser) quotedLines(n int, q *quotedText) error {
	for len(q.out) > q.kept && (q.out[len(q.out)-1] == ' ' || q.out[len(q.out)-1] == '\t') {
		q.out = q.out[:len(q.out)-1]
	}
	breaks, err := p.quotedBreaks(n, q, len(p.s))
	q.out = fold(q.out, breaks)
	q.kept = len(q.out)
	return err
}

// quotedBreaks steps over line ends and indentation, most line ends at most,
// and counts the line ends.
func (p *parser) quotedBreaks(n int, q *quotedText, most int) (breaks int, err error) {
	for p.peek(0) == '\n' && breaks < most {
		p.newline()
		breaks++
		if p.marker() {
			return 0, p.errorAt(q.begin, "a quote that is not closed before "+p.s[p.i:p.i+3], "close it")
		}
		for p.peek(0) == ' ' {
			p.i++
		}
		if !p.end() && p.s[p.i] != '\n' && p.i-p.ls <= n {
			return 0, p.errorHere(fmt.Sprintf("a value in quotes (from line %d) that goes on without indentation", p.first+q.begin.line),
				"indent every line of it, and look whether its closing quote is missing")
		}
		p.blanks()
	}
	return breaks, nil
}

// simpleEscapes are the escapes of one character (YAML 1.2, section 5.7).
var simpleEscapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': `"`, '/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape reads the escape at i.
func (p *parser) escape(n int, q *quotedText) error {
	c := p.peek(1)
	if text, ok := simpleEscapes[c]; ok {
		p.i += 2
		q.out = append(q.out, text...)
		q.kept = len(q.out)
		return nil
	}
	if c == '\n' {
		// Blank lines behind it fold as if it were not there, as the npm
		// package has it.
		p.i++
		_, err := p.quotedBreaks(n, q, 1)
		q.kept = len(q.out)
		return err
	}
	r, size := p.codePoint(p.i)
	if utf16.IsSurrogate(r) {
		low, lowSize := p.codePoint(p.i + size)
		r = utf16.DecodeRune(r, low)
		if r == utf8.RuneError {
			return p.errorHere("half of a surrogate pair", `write both halves, or the character itself`)
		}
		size += lowSize
	}
	if size == 0 {
		return p.errorHere("an unknown escape in double quotes", hintEscape)
	}
	p.i += size
	q.out = utf8.AppendRune(q.out, r)
	q.kept = len(q.out)
	return nil
}

// codePoint reads \xHH, \uHHHH or \UHHHHHHHH at an offset; size is 0 when
// there is none.
func (p *parser) codePoint(off int) (r rune, size int) {
	if off+1 >= len(p.s) || p.s[off] != '\\' {
		return 0, 0
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[p.s[off+1]]
	if digits == 0 || off+2+digits > len(p.s) {
		return 0, 0
	}
	v, err := strconv.ParseUint(p.s[off+2:off+2+digits], 16, 32)
	if err != nil || v > utf8.MaxRune {
		return 0, 0
	}
	return rune(v), 2 + digits
}
