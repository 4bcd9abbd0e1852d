package yamlcore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxBytes is the longest text that is read. It is the limit of a
	// frontmatter block; real ones stay under 10 KiB.
	MaxBytes = 64 << 10
	// MaxDepth is how many sequences and maps may lie within each other. The
	// deepest seen in 35,000 real files is 8; the limit keeps the recursion of
	// this parser and of its callers small.
	MaxDepth = 64
	// MaxNodes is how many values a text may hold. 64 KiB of commas make three
	// times as many; the limit keeps time and memory for such a text low.
	MaxNodes = 32 << 10
)

// Options says how a text lies in its file.
type Options struct {
	// FirstLine is the number in the file of the text's first line; 0 is 1.
	FirstLine int
	// MaxBytes replaces the limit of the same name for files that are not
	// frontmatter; 0 keeps it.
	MaxBytes int
}

// Parse reads one YAML document. Its error is an *Error, with the place in the
// file. A text without content gives a Null node.
func Parse(src []byte, opts Options) (*Node, error) {
	p := &parser{first: max(opts.FirstLine, 1)}
	limit := MaxBytes
	if opts.MaxBytes > 0 {
		limit = opts.MaxBytes
	}
	if len(src) > limit {
		return nil, &Error{Line: p.first, Column: 1,
			Met: fmt.Sprintf("%d bytes of YAML where at most %d are read", len(src), limit)}
	}
	p.s = prepare(src)
	if err := p.checkControls(); err != nil {
		return nil, err
	}
	return p.document()
}

// parser goes over the text once. Every method leaves i behind what it read.
type parser struct {
	s     string
	i     int // offset of the next byte
	line  int // number of its line, from 0
	ls    int // offset where that line begins
	first int // number of line 0 in the file

	indent int  // leading spaces of the line, when skip has crossed a line end
	tabbed bool // whether a tab follows them, before the content

	depth  int    // collections around i
	nested int    // flow collections around i
	nodes  int    // how many have been made
	slab   []Node // nodes not given out yet
	grown  int    // size of the last slab

	last mark // the last place a column was counted for
	col  int  // and that column
}

// mark is a place in the text.
type mark struct{ off, line, ls int }

func (p *parser) here() mark { return mark{p.i, p.line, p.ls} }

// column counts the characters before a place on its line, from 1. It counts
// on from the last place on the same line: otherwise a long line would be
// counted once for every node on it.
func (p *parser) column(m mark) int {
	switch {
	case m.line != p.last.line || p.col == 0:
		p.col = 1 + utf8.RuneCountInString(p.s[m.ls:m.off])
	case m.off >= p.last.off:
		p.col += utf8.RuneCountInString(p.s[p.last.off:m.off])
	default:
		p.col -= utf8.RuneCountInString(p.s[m.off:p.last.off])
	}
	p.last = m
	return p.col
}

func (p *parser) errorAt(m mark, met, hint string) error {
	return &Error{Line: p.first + m.line, Column: p.column(m), Met: met, Hint: hint}
}

func (p *parser) errorHere(met, hint string) error { return p.errorAt(p.here(), met, hint) }

// node makes a node that begins at m. Nodes are allocated in growing slabs:
// the worst text has 98,000 of them.
func (p *parser) node(m mark, kind Kind, style Style) *Node {
	if len(p.slab) == 0 {
		p.grown = min(max(2*p.grown, 16), 1024)
		p.slab = make([]Node, p.grown)
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	p.nodes++
	n.Kind, n.Style, n.Line, n.Column = kind, style, int32(p.first+m.line), int32(p.column(m))
	return n
}

// null makes the node of a value that was left out.
func (p *parser) null(m mark) *Node { return p.node(m, Null, Plain) }

// enter counts one more level of collections; leave takes it back.
func (p *parser) enter(m mark) error {
	if p.depth++; p.depth > MaxDepth {
		return p.errorAt(m, fmt.Sprintf("more than %d lists and maps within each other", MaxDepth), "")
	}
	return nil
}

// checkNodes refuses a text with too many values.
func (p *parser) checkNodes() error {
	if p.nodes > MaxNodes {
		return p.errorHere(fmt.Sprintf("more than %d values", MaxNodes), "")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) end() bool { return p.i >= len(p.s) }

// peek gives the byte at an offset from here, 0 behind the end.
func (p *parser) peek(k int) byte {
	if p.i+k < len(p.s) {
		return p.s[p.i+k]
	}
	return 0
}

// blankAt reports whether a blank, a line end or the end of the text is there.
// A lone CR counts, as the npm package has it, though it is no line end.
func (p *parser) blankAt(off int) bool {
	return off >= len(p.s) || p.s[off] == ' ' || p.s[off] == '\t' || p.s[off] == '\n' || p.s[off] == '\r'
}

// newline steps over the LF at i.
func (p *parser) newline() {
	p.i++
	p.line++
	p.ls = p.i
}

// blanks steps over spaces and tabs.
func (p *parser) blanks() {
	for !p.end() && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
}

// comment steps over a comment up to its line end. Only a # at the beginning
// of a line or behind a blank begins one.
func (p *parser) comment() bool {
	if p.peek(0) != '#' || p.i > p.ls && !p.blankAt(p.i-1) {
		return false
	}
	if n := strings.IndexByte(p.s[p.i:], '\n'); n >= 0 {
		p.i += n
	} else {
		p.i = len(p.s)
	}
	return true
}

// skip goes on to the next content, over blanks, comments and line ends, and
// reports whether it crossed a line end (or began at the beginning of one).
// Then indent and tabbed describe the line.
func (p *parser) skip() (crossed bool) {
	crossed = p.i == p.ls
	for {
		p.blanks()
		p.comment()
		if p.end() || p.s[p.i] != '\n' {
			break
		}
		p.newline()
		crossed = true
	}
	if crossed {
		p.measure()
	}
	return crossed
}

// measure sets indent and tabbed for the line of i, whose content begins at i.
func (p *parser) measure() {
	lead := p.s[p.ls:p.i]
	p.indent = len(lead) - len(strings.TrimLeft(lead, " "))
	p.tabbed = p.indent < len(lead)
}

// marker reports whether the line of i is a document marker, --- or ...; only
// a line's beginning is one.
func (p *parser) marker() bool {
	return p.i == p.ls && p.markerAt(p.i)
}

func (p *parser) markerAt(off int) bool {
	s := p.s[off:]
	return (strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...")) && p.blankAt(off+3)
}

// stop reports whether the content at i, on a new line, is not within a node
// whose parent is indented by n: it is the end, a marker, or not deep enough.
func (p *parser) stop(n int) bool {
	return p.end() || p.marker() || p.indent <= n
}

// lineEnd checks that nothing but a comment follows on the line.
func (p *parser) lineEnd(after string) error {
	p.blanks()
	if p.end() || p.s[p.i] == '\n' || p.comment() {
		return nil
	}
	if p.s[p.i] == '#' {
		return p.errorHere("# right after "+after, hintComment)
	}
	return p.errorHere("text after "+after, hintQuote)
}
