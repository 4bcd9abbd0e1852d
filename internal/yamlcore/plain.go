package yamlcore

func isFlowIndicator(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

// plain reads a scalar without quotes that belongs to a parent indented by n.
// It leaves i behind its last character.
func (p *parser) plain(n int, flow bool) (*Node, error) {
	node := p.node(p.here(), String, Plain)
	start := p.i
	p.plainLine(flow)
	text := p.s[start:p.i]
	var long []byte
	for {
		breaks, ok := p.continues(n, flow)
		if !ok {
			break
		}
		if long == nil {
			long = append(long, text...)
		}
		long = fold(long, breaks)
		from := p.i
		p.plainLine(flow)
		long = append(long, p.s[from:p.i]...)
	}
	node.Raw = p.s[start:p.i]
	node.Text = text
	if long != nil {
		node.Text = string(long)
	}
	node.Kind = resolve(node.Text)
	return node, nil
}

// plainLine goes to the end of a plain scalar on its line, without the blanks
// before a comment or line end.
func (p *parser) plainLine(flow bool) {
	start, end := p.i, p.i
	for i := p.i; i < len(p.s); i++ {
		c := p.s[i]
		if c == '\n' || flow && isFlowIndicator(c) ||
			c == ':' && (p.blankAt(i+1) || flow && isFlowIndicator(p.s[i+1])) ||
			c == '#' && i > start && p.blankAt(i-1) {
			break
		}
		if c != ' ' && c != '\t' {
			end = i + 1
		}
	}
	p.i = end
}

// continues goes on to the next line of a scalar without quotes and gives the
// number of line ends before it. When the scalar ends, i stays.
func (p *parser) continues(n int, flow bool) (breaks int, ok bool) {
	back := *p
	for {
		p.blanks()
		if p.peek(0) != '\n' {
			break
		}
		p.newline()
		breaks++
	}
	p.measure()
	if breaks == 0 || p.stop(n) || p.peek(0) == '#' || flow && (isFlowIndicator(p.peek(0)) || p.flowColon(false)) {
		*p = back
		return 0, false
	}
	return breaks, true
}

// fold appends what a number of line ends within a scalar stand for: one is a
// space, more are one line end less.
func fold(out []byte, breaks int) []byte {
	if breaks == 1 {
		return append(out, ' ')
	}
	for ; breaks > 1; breaks-- {
		out = append(out, '\n')
	}
	return out
}
