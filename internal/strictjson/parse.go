package strictjson

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep values may nest: more than any document of the product
// needs, and far from what would exhaust a stack.
const MaxDepth = 32

// Parse reads exactly one JSON value. The error is a *SyntaxError. The caller
// bounds the length of data.
func Parse(data []byte) (*Value, error) {
	p := &parser{data: data}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, p.fail("a byte order mark stands before the value")
	}
	p.space()
	v, err := p.value(1)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(data) {
		return nil, p.fail("something follows the value")
	}
	return &v, nil
}

type parser struct {
	data []byte
	at   int
	// line and lineStart belong to the last position asked for by place.
	line, lineStart, counted int
}

func (p *parser) place() (line, column int) {
	for ; p.counted < p.at; p.counted++ {
		if p.data[p.counted] == '\n' {
			p.line, p.lineStart = p.line+1, p.counted+1
		}
	}
	return p.line + 1, p.at - p.lineStart + 1
}

func (p *parser) fail(format string, args ...any) error {
	line, column := p.place()
	return &SyntaxError{line, column, fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.at < len(p.data) && strings.IndexByte(" \t\r\n", p.data[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, p.fail("values nest deeper than %d", MaxDepth)
	}
	v := Value{}
	v.Line, v.Column = p.place()
	var err error
	switch c := p.peek(); {
	case c == '{':
		v.Kind = Object
		v.Members, err = p.object(depth)
	case c == '[':
		v.Kind = Array
		v.Items, err = p.array(depth)
	case c == '"':
		v.Kind = String
		v.Text, err = p.text()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		v.Text, err = p.number()
	default:
		err = p.word(&v)
	}
	return v, err
}

func (p *parser) word(v *Value) error {
	for _, w := range []struct {
		text  string
		value Value
	}{{"true", Value{Kind: Bool, Bool: true}}, {"false", Value{Kind: Bool}}, {"null", Value{Kind: Null}}} {
		if bytes.HasPrefix(p.data[p.at:], []byte(w.text)) {
			v.Kind, v.Bool = w.value.Kind, w.value.Bool
			p.at += len(w.text)
			return nil
		}
	}
	if p.at >= len(p.data) {
		return p.fail("the document ends where a value belongs")
	}
	return p.fail("no value begins here")
}

func (p *parser) object(depth int) ([]Member, error) {
	members := []Member{}
	seen := map[string]bool{}
	err := p.list('}', func() error {
		if p.peek() != '"' {
			return p.fail("a key in double quotes belongs here")
		}
		line, column := p.place()
		key, err := p.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return &SyntaxError{line, column, "this key stands twice in its object"}
		}
		seen[key] = true
		p.space()
		if p.peek() != ':' {
			return p.fail("a colon belongs after the key")
		}
		p.at++
		p.space()
		v, err := p.value(depth + 1)
		members = append(members, Member{key, v})
		return err
	})
	return members, err
}

func (p *parser) array(depth int) ([]Value, error) {
	items := []Value{}
	err := p.list(']', func() error {
		v, err := p.value(depth + 1)
		items = append(items, v)
		return err
	})
	return items, err
}

// list reads an opening bracket, items with commas between, and the closing
// bracket.
func (p *parser) list(closing byte, item func() error) error {
	p.at++
	p.space()
	if p.peek() == closing && p.at < len(p.data) {
		p.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case closing:
			p.at++
			return nil
		case ',':
			p.at++
			p.space()
		default:
			return p.fail("a comma or %q belongs here", closing)
		}
	}
}

// number reads the grammar of RFC 8259, section 6, and keeps the literal.
func (p *parser) number() (string, error) {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return "", p.fail("a digit belongs here")
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return "", p.fail("a digit belongs after the point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return "", p.fail("a digit belongs in the exponent")
		}
	}
	return string(p.data[start:p.at]), nil
}

func (p *parser) digits() bool {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > start
}

func (p *parser) text() (string, error) {
	p.at++
	var b strings.Builder
	for {
		if p.at >= len(p.data) {
			return "", p.fail("the document ends inside a string")
		}
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c < ' ':
			return "", p.fail("a control character stands in a string")
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail("a string is not UTF-8")
			}
			b.Write(p.data[p.at : p.at+size])
			p.at += size
		}
	}
}

func (p *parser) escape() (rune, error) {
	p.at++
	c := p.peek()
	if c == 'u' {
		return p.unicode()
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 || p.at >= len(p.data) {
		return 0, p.fail("no such escape")
	}
	p.at++
	return rune("\"\\/\b\f\n\r\t"[i]), nil
}

// unicode reads \uXXXX with p.at at the u, and a second one when the first is
// half a surrogate pair.
func (p *parser) unicode() (rune, error) {
	r, err := p.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !bytes.HasPrefix(p.data[p.at:], []byte(`\u`)) {
		return 0, p.fail("half a surrogate pair stands alone")
	}
	p.at++
	low, err := p.hex()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, p.fail("half a surrogate pair stands alone")
	}
	return r, nil
}

func (p *parser) hex() (rune, error) {
	p.at++
	r := rune(0)
	for range 4 {
		i := strings.IndexByte("0123456789abcdef", p.peek()|0x20)
		if i < 0 || p.at >= len(p.data) || p.peek() < '0' {
			return 0, p.fail("four hexadecimal digits belong after \\u")
		}
		r = r<<4 | rune(i)
		p.at++
	}
	return r, nil
}
