package yamlcore

// flow reads the sequence in brackets or map in braces at i, which belongs to
// a parent indented by n: each of its lines must be indented more, but the
// line of the last closing bracket may be indented like the parent.
func (p *parser) flow(n int) (*Node, error) {
	begin := p.here()
	if err := p.enter(begin); err != nil {
		return nil, err
	}
	defer p.leave()
	p.nested++
	defer func() { p.nested-- }()
	f := &flowReader{p: p, n: n, begin: begin, closing: ']', node: p.node(begin, Seq, Flow)}
	if p.s[p.i] == '{' {
		f.closing = '}'
		f.node.Kind = Map
	}
	p.i++
	for {
		if err := f.skip(); err != nil {
			return nil, err
		}
		switch c := p.peek(0); {
		case c == f.closing:
			p.i++
			return f.node, nil
		case c == ',':
			return nil, p.errorHere("a comma with nothing before it", hintQuote)
		}
		if err := f.element(); err != nil {
			return nil, err
		}
		if err := p.checkNodes(); err != nil {
			return nil, err
		}
		if err := f.skip(); err != nil {
			return nil, err
		}
		switch c := p.peek(0); {
		case c == ',':
			p.i++
		case c != f.closing:
			return nil, p.errorHere("text where a comma or "+string(f.closing)+" is due", hintQuote)
		}
	}
}

// flowReader reads the elements of one flow collection.
type flowReader struct {
	p       *parser
	n       int
	begin   mark
	closing byte
	node    *Node
	keys    keySet
}

// skip goes on to the next content, which must be inside the collection.
func (f *flowReader) skip() error {
	p := f.p
	crossed := p.skip()
	if p.end() || crossed && p.marker() {
		return p.errorAt(f.begin, "a bracket that is never closed", hintQuote)
	}
	if crossed && p.indent <= f.n && !(p.indent == f.n && p.nested == 1 && p.peek(0) == f.closing) {
		return p.errorHere("a line inside brackets that is not indented", hintIndent)
	}
	return nil
}

// ends reports whether an element, or its value, ends at i.
func (f *flowReader) ends() bool { return f.p.peek(0) == ',' || f.p.peek(0) == f.closing }

// element reads one element: a node, a key without value, or a pair.
func (f *flowReader) element() error {
	p := f.p
	begin := p.here()
	explicit := p.peek(0) == '?' && p.flowBlankAt(p.i+1)
	if explicit {
		p.i++
		if err := f.skip(); err != nil {
			return err
		}
	}
	key, err := f.item()
	if err != nil {
		return err
	}
	end := p.i
	if err := f.skip(); err != nil {
		return err
	}
	json := key.Style != Plain
	if !p.flowColon(json) {
		return f.add(begin, key, nil, explicit)
	}
	if f.node.Kind == Seq && !explicit && p.line != begin.line {
		return p.errorAt(begin, "a key that goes over several lines", "")
	}
	if f.node.Kind == Seq && !explicit && end-begin.off > maxKey {
		return p.errorAt(begin, "a key of more than 1024 bytes", "")
	}
	p.i++
	if err := f.skip(); err != nil {
		return err
	}
	value := p.null(p.here())
	if !f.ends() {
		if value, err = f.item(); err != nil {
			return err
		}
	}
	return f.add(begin, key, value, true)
}

// add puts an element into the node. value is nil when there was no colon.
func (f *flowReader) add(begin mark, key, value *Node, pair bool) error {
	if f.node.Kind == Seq && !pair {
		f.node.Items = append(f.node.Items, key)
		return nil
	}
	if value == nil {
		value = f.p.null(f.p.here())
	}
	if f.node.Kind == Seq {
		if err := f.p.enter(begin); err != nil {
			return err
		}
		f.p.leave()
		m := f.p.node(begin, Map, Flow)
		m.Entries = []Entry{{key, value}}
		f.node.Items = append(f.node.Items, m)
		return nil
	}
	if err := f.keys.add(key); err != nil {
		return err
	}
	f.node.Entries = append(f.node.Entries, Entry{key, value})
	return nil
}

// item reads a node inside the collection; it may be empty before a colon.
func (f *flowReader) item() (*Node, error) {
	p := f.p
	begin := p.here()
	tag, err := p.properties(true)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		if err := f.skip(); err != nil {
			return nil, err
		}
	}
	if f.ends() || p.flowColon(false) {
		return p.applyTag(p.null(begin), tag, begin)
	}
	if err := p.forbiddenStart(); err != nil {
		return nil, err
	}
	var node *Node
	switch c := p.peek(0); {
	case c == '[' || c == '{':
		node, err = p.flow(f.n)
	case c == '"' || c == '\'':
		node, err = p.quoted(f.n)
	case c == '|' || c == '>' || c == '#' || (c == '-' || c == '?') && p.flowBlankAt(p.i+1):
		return nil, p.errorHere(string(c)+" inside brackets", hintQuote)
	default:
		node, err = p.plain(f.n, true)
	}
	if err != nil {
		return nil, err
	}
	return p.applyTag(node, tag, begin)
}

// flowBlankAt reports whether a blank or a flow indicator is at an offset.
func (p *parser) flowBlankAt(off int) bool { return p.blankAt(off) || isFlowIndicator(p.s[off]) }

// flowColon reports whether the colon between a key and its value is at i.
// Behind a key in quotes or brackets (json) anything may follow it.
func (p *parser) flowColon(json bool) bool {
	return p.peek(0) == ':' && (json || p.flowBlankAt(p.i+1))
}
