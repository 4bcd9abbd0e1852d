package yamlcore

import "strings"

// document reads directives, one document and what may follow it.
func (p *parser) document() (*Node, error) {
	if err := p.directives(); err != nil {
		return nil, err
	}
	if p.marker() && p.peek(0) == '-' {
		p.i += 3
	}
	root, err := p.blockNode(-1, place{})
	if err != nil {
		return nil, err
	}
	p.skip()
	return root, p.documentEnd()
}

// directives reads the lines before a --- that says they end. Only %YAML of
// version 1 means anything; %TAG could only name tags that are refused anyway.
func (p *parser) directives() error {
	p.skip()
	seen := false
	for p.i == p.ls && p.peek(0) == '%' {
		line, _, _ := strings.Cut(p.s[p.i:], "\n")
		f := strings.Fields(line)
		if f[0] != "%YAML" || seen || len(f) < 2 || f[1] != "1.2" && f[1] != "1.1" || len(f) > 2 && f[2][0] != '#' {
			return p.errorHere("a line that starts with % where YAML has its directives", hintQuote)
		}
		seen = true
		p.i += len(line)
		p.skip()
	}
	if p.marker() && p.peek(0) == '-' {
		return nil
	}
	if seen {
		return p.errorHere("no --- after a directive", "")
	}
	p.i = p.ls // the indentation is looked at again, with the content
	return nil
}

// documentEnd refuses everything behind the root node but comments and "...".
func (p *parser) documentEnd() error {
	ended := false
	for p.marker() && p.peek(0) == '.' {
		ended = true
		p.i += 3
		if err := p.lineEnd(`"..."`); err != nil {
			return err
		}
		p.skip()
	}
	switch {
	case p.end():
		return nil
	case p.marker() || ended:
		return p.errorHere("a second document", "keep one document in the text")
	case p.tabbed:
		return p.errorHere("a tab in the indentation", hintSpaces)
	}
	return p.errorHere("text that belongs to nothing before it", hintIndent)
}
