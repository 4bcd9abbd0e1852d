package yamlcore

import "strings"

// blockScalar reads the literal (|) or folded (>) text at i, which belongs to
// a parent indented by n. It leaves i at the beginning of a line, or the end.
func (p *parser) blockScalar(n int) (*Node, error) {
	begin := p.here()
	node := p.node(begin, String, Literal)
	if p.s[p.i] == '>' {
		node.Style = Folded
	}
	p.i++
	digit, chomp := p.blockHeader()
	if err := p.lineEnd("the sign of block text (" + p.s[begin.off:begin.off+1] + ")"); err != nil {
		return nil, err
	}
	if !p.end() {
		p.newline()
	}
	indent := max(n, 0) + digit
	if digit == 0 {
		var err error
		if indent, err = p.detectIndent(n); err != nil {
			return nil, err
		}
	}
	lines := p.blockLines(indent)
	if p.peek(p.spaces()) == '\t' {
		return nil, p.errorHere("a tab in the indentation of block text", hintSpaces)
	}
	node.Raw = p.s[begin.off:p.i]
	node.Text = blockText(lines, node.Style == Folded, chomp)
	return node, nil
}

// blockHeader reads the signs behind | or >: a digit for the indentation and
// + or - for the line ends at the end, in either order; 0 where not given.
func (p *parser) blockHeader() (digit int, chomp byte) {
	for range 2 {
		c := p.peek(0)
		switch {
		case c >= '1' && c <= '9' && digit == 0:
			digit = int(c - '0')
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		default:
			return digit, chomp
		}
		p.i++
	}
	return digit, chomp
}

// detectIndent gives the indentation of block text by its first line that is
// not blank. One that is not deeper than n is not part of the text.
func (p *parser) detectIndent(n int) (int, error) {
	deepest := mark{}
	most := 0
	line := p.line
	for off := p.i; off < len(p.s); line++ {
		end := off
		for end < len(p.s) && p.s[end] == ' ' {
			end++
		}
		width := end - off
		if end < len(p.s) && p.s[end] != '\n' {
			if width > n && most > width {
				return 0, p.errorAt(deepest, "a blank line that is indented more than the text after it", "remove its blanks")
			}
			return max(width, n+1), nil
		}
		if width > most {
			most, deepest = width, mark{end, line, off}
		}
		off = end + 1
	}
	return max(most, n+1), nil
}

// blockLines reads the lines of block text without their indentation. Blank
// lines at the end are among them.
func (p *parser) blockLines(indent int) []string {
	var lines []string
	for !p.end() {
		width := min(p.spaces(), indent)
		rest, _, ended := strings.Cut(p.s[p.i+width:], "\n")
		if width < indent && rest != "" || indent == 0 && p.marker() {
			break
		}
		if width < indent && !ended {
			p.i = len(p.s)
			break
		}
		lines = append(lines, rest)
		p.i += width + len(rest)
		if p.end() {
			break
		}
		p.newline()
	}
	return lines
}

// spaces counts the spaces at i.
func (p *parser) spaces() int {
	n := 0
	for p.peek(n) == ' ' {
		n++
	}
	return n
}

// blockText joins the lines of block text.
func blockText(lines []string, folded bool, chomp byte) string {
	last := len(lines)
	for last > 0 && lines[last-1] == "" {
		last--
	}
	empty := len(lines) - last
	var out strings.Builder
	if folded {
		foldLines(&out, lines[:last])
	} else {
		out.WriteString(strings.Join(lines[:last], "\n"))
	}
	switch {
	case chomp == '+':
		if last > 0 {
			empty++
		}
		out.WriteString(strings.Repeat("\n", empty))
	case chomp == 0 && last > 0:
		out.WriteByte('\n')
	}
	return out.String()
}

// foldLines joins lines with spaces, and keeps the line ends around lines that
// are indented more.
func foldLines(out *strings.Builder, lines []string) {
	empty, first, prevMore := 0, true, false
	for _, l := range lines {
		if l == "" {
			empty++
			continue
		}
		more := l[0] == ' ' || l[0] == '\t'
		switch {
		case first:
			out.WriteString(strings.Repeat("\n", empty))
		case more || prevMore:
			out.WriteString(strings.Repeat("\n", empty+1))
		case empty == 0:
			out.WriteByte(' ')
		default:
			out.WriteString(strings.Repeat("\n", empty))
		}
		out.WriteString(l)
		empty, first, prevMore = 0, false, more
	}
}
