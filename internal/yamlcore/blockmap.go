package yamlcore

// blockMap reads a block map from its first key on. key is that key when it
// has been read, with i at its colon; nil when an explicit key begins at i.
func (p *parser) blockMap(s spot, key *Node) (*Node, error) {
	if err := p.open(s); err != nil {
		return nil, err
	}
	defer p.leave()
	c := s.begin.off - s.begin.ls
	m := p.node(s.begin, Map, Block)
	keys := keySet{}
	for {
		value, err := p.entry(c, &key)
		if err != nil {
			return nil, err
		}
		if err := keys.add(key); err != nil {
			return nil, err
		}
		if err := p.checkNodes(); err != nil {
			return nil, err
		}
		m.Entries = append(m.Entries, Entry{key, value})
		p.skip()
		switch {
		case p.stop(c - 1):
			return m, nil
		case p.tabbed:
			return nil, p.errorHere("a tab in the indentation", hintSpaces)
		case p.indent > c:
			return nil, p.errorHere("a line that is indented more than the key before it", hintIndent)
		}
		if key, err = p.key(c); err != nil {
			return nil, err
		}
	}
}

// entry reads the value of a key, or an explicit key and its value.
func (p *parser) entry(c int, key **Node) (value *Node, err error) {
	if *key != nil {
		p.i++
		return p.blockNode(c, place{value: true})
	}
	p.i++
	if *key, err = p.blockNode(c, place{compact: true, value: true}); err != nil {
		return nil, err
	}
	p.skip()
	if p.end() || p.indent != c || p.tabbed || !p.colon() {
		return p.null(p.here()), nil
	}
	p.i++
	return p.blockNode(c, place{compact: true, value: true})
}

// key reads the next key of a block map, up to its colon. It gives nil when an
// explicit key begins at i.
func (p *parser) key(c int) (*Node, error) {
	begin := p.here()
	if p.question() {
		return nil, nil
	}
	tag, err := p.properties(false)
	if err != nil {
		return nil, err
	}
	if tag != "" && p.skip() {
		return nil, p.errorAt(begin, "a tag without a key", "")
	}
	if p.colon() {
		return p.applyTag(p.null(begin), tag, begin)
	}
	if p.dash() {
		return nil, p.errorHere(`"- " where a key is due`, "indent the list under its key")
	}
	if err := p.forbiddenStart(); err != nil {
		return nil, err
	}
	if c := p.peek(0); c == '|' || c == '>' {
		return nil, p.errorHere("block text where a key is due", hintIndent)
	}
	node, isKey, err := p.keyOrScalar(c)
	if err != nil {
		return nil, err
	}
	if !isKey {
		return nil, p.errorAt(begin, "a line without a colon where a key is due", hintIndent)
	}
	return p.applyTag(node, tag, begin)
}
