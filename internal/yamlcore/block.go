package yamlcore

// place says what may stand where a block node is read.
type place struct {
	// compact: a sequence or map may begin on this line (after "- ", "? " and
	// an explicit ": ").
	compact bool
	// value: the node is the value of a key, so that a sequence may be
	// indented like that key.
	value bool
}

// spot is where the content of a block node begins.
type spot struct {
	begin mark
	nest  bool // a block sequence or map may begin here
	tab   bool // but it would be indented with a tab
}

// blockNode reads the node that belongs to a parent indented by n (-1 for the
// whole text), from behind the parent's indicator.
func (p *parser) blockNode(n int, at place) (*Node, error) {
	from := p.here()
	crossed := p.skip()
	if crossed && p.stop(n) && !p.listAt(n, at) {
		return p.null(from), p.tabError(n)
	}
	if crossed && n < 0 && p.tabbed && p.indent == 0 && p.peek(0) != '[' && p.peek(0) != '{' {
		return nil, p.errorHere("a tab in the indentation", hintSpaces)
	}
	s := spot{p.here(), crossed || at.compact, crossed && p.tabbed || !crossed && !p.spacesOnly(from.off)}
	outer, err := p.properties(false)
	if err != nil {
		return nil, err
	}
	if outer == "" || !p.skip() {
		return p.content(n, s, outer)
	}
	// The tag stands alone on its line: it is not a key's.
	begin := s.begin
	if p.stop(n) && !p.listAt(n, at) {
		return p.applyTag(p.null(begin), outer, begin)
	}
	s = spot{p.here(), true, p.tabbed}
	inner, err := p.properties(false)
	if err != nil {
		return nil, err
	}
	node, err := p.content(n, s, inner)
	if err != nil {
		return nil, err
	}
	if inner != "" && node.Kind != Map {
		return nil, p.errorAt(s.begin, "a second tag", "")
	}
	return p.applyTag(node, outer, begin)
}

// listAt reports whether a sequence begins here that is indented like the key
// it is the value of.
func (p *parser) listAt(n int, at place) bool {
	return at.value && !p.end() && p.indent == n && !p.tabbed && p.dash() && !p.marker()
}

// tabError refuses content that is deep enough only when its tab counts.
func (p *parser) tabError(n int) error {
	if !p.end() && p.tabbed && p.indent <= n {
		return p.errorHere("a tab in the indentation", hintSpaces)
	}
	return nil
}

// spacesOnly reports whether no tab lies between an offset on this line and i.
func (p *parser) spacesOnly(from int) bool {
	for _, c := range []byte(p.s[from:p.i]) {
		if c == '\t' {
			return false
		}
	}
	return true
}

func (p *parser) dash() bool     { return p.peek(0) == '-' && p.blankAt(p.i+1) }
func (p *parser) question() bool { return p.peek(0) == '?' && p.blankAt(p.i+1) }
func (p *parser) colon() bool    { return p.peek(0) == ':' && p.blankAt(p.i+1) }

// content reads what stands at i. A tag on the same line is the node's, or
// its first key's when it turns out to be a map.
func (p *parser) content(n int, s spot, tag string) (*Node, error) {
	if p.end() {
		return p.applyTag(p.null(s.begin), tag, s.begin)
	}
	if err := p.forbiddenStart(); err != nil {
		return nil, err
	}
	switch c := p.peek(0); {
	case c == '|' || c == '>':
		node, err := p.blockScalar(n)
		if err != nil {
			return nil, err
		}
		return p.applyTag(node, tag, s.begin)
	case p.dash(), p.question(), p.colon():
		return p.indicated(s, tag)
	}
	node, isKey, err := p.keyOrScalar(n)
	if err != nil {
		return nil, err
	}
	if node, err = p.applyTag(node, tag, s.begin); err != nil || !isKey {
		return node, err
	}
	if !s.nest {
		return nil, p.errorHere(`": " inside a value without quotes`, hintQuote)
	}
	return p.blockMap(s, node)
}

// indicated reads a node that begins with "- ", "? " or ": ".
func (p *parser) indicated(s spot, tag string) (*Node, error) {
	switch {
	case p.colon() && s.nest:
		key, err := p.applyTag(p.null(s.begin), tag, s.begin)
		if err != nil {
			return nil, err
		}
		return p.blockMap(s, key)
	case tag != "":
		return nil, p.errorHere("a list or map on the line of its tag", "begin it on the next line")
	case p.dash() && s.nest:
		return p.blockSeq(s)
	case p.dash():
		return nil, p.errorHere(`a value that starts with "- "`, "put it in quotes, or begin the list on a line of its own")
	case s.nest:
		return p.blockMap(s, nil)
	}
	return nil, p.errorHere("a key inside a value", hintQuote)
}

// keyOrScalar reads a scalar or flow collection, and reports whether it is the
// key of a block map; then i is at the colon, else at the end of its line.
func (p *parser) keyOrScalar(n int) (node *Node, isKey bool, err error) {
	begin := p.here()
	after := "a value"
	switch p.peek(0) {
	case '"', '\'':
		after = "a closing quote"
		node, err = p.quoted(n)
	case '[', '{':
		after = "a closing bracket"
		node, err = p.flow(n)
	default:
		node, err = p.plain(n, false)
	}
	if err != nil {
		return nil, false, err
	}
	p.blanks()
	if p.peek(0) != ':' || !p.blankAt(p.i+1) {
		return node, false, p.lineEnd(after)
	}
	return node, true, p.checkKey(begin)
}

// maxKey is the longest key, in bytes, that may be written without "? "
// (YAML 1.2, section 7.4.2: 1024 characters on one line).
const maxKey = 1024

// checkKey refuses a key from begin to the colon at i that is no simple key.
func (p *parser) checkKey(begin mark) error {
	switch {
	case p.line != begin.line:
		return p.errorHere(`": " inside a value that goes over several lines`, hintQuote)
	case p.i-begin.off > maxKey:
		return p.errorAt(begin, "a key of more than 1024 bytes", "")
	}
	return nil
}

// blockSeq reads a sequence whose first dash is at i.
func (p *parser) blockSeq(s spot) (*Node, error) {
	if err := p.open(s); err != nil {
		return nil, err
	}
	defer p.leave()
	c := s.begin.off - s.begin.ls
	seq := p.node(s.begin, Seq, Block)
	for {
		p.i++
		item, err := p.blockNode(c, place{compact: true})
		if err == nil {
			err = p.checkNodes()
		}
		if err != nil {
			return nil, err
		}
		seq.Items = append(seq.Items, item)
		p.skip()
		switch {
		case p.stop(c - 1):
			return seq, nil
		case p.tabbed:
			return nil, p.errorHere("a tab in the indentation", hintSpaces)
		case p.indent > c:
			return nil, p.errorHere("a line that is indented more than the list it is in", "")
		case !p.dash():
			return seq, nil // the parent knows whether a key may follow
		}
	}
}

// open begins a block collection.
func (p *parser) open(s spot) error {
	if s.tab {
		return p.errorAt(s.begin, "a tab in the indentation", hintSpaces)
	}
	return p.enter(s.begin)
}
