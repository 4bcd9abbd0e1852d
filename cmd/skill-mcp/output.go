package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// printer writes for a person: tables that fit the terminal, colour only where
// it is wanted. Piped output has neither, one row a line, columns by tabs.
type printer struct {
	w     io.Writer
	width int  // columns; 0 = not a terminal
	color bool // a terminal, and NO_COLOR is not set
}

// newPrinter looks at where the output goes.
func newPrinter(w io.Writer) *printer {
	p := &printer{w: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.width = 80
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
		p.width = cols
	}
	p.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return p
}

// The colours of states, by what they say.
const (
	colorGood = "32"
	colorWarn = "33"
	colorBad  = "31"
	colorHead = "1"
)

// paint colours text where colour is wanted.
func (p *printer) paint(color, text string) string {
	if !p.color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// paragraph prints text that wraps under itself. The first words of it that are
// part are painted.
func (p *printer) paragraph(text, part, color string) {
	text = printable(text)
	lines := []string{text}
	if p.width > 0 {
		lines = wrap(text, p.width-2)
	}
	painted := strings.Replace(strings.Join(lines, "\n  "), part, p.paint(color, part), 1)
	fmt.Fprintln(p.w, painted)
}

// minColumn is the narrowest a wrapped column gets: below it words break.
const minColumn = 12

// table prints rows under a header. On a terminal the last column wraps and,
// when even that does not fit, each row becomes a block of `name: value` lines.
func (p *printer) table(header []string, rows [][]string) {
	if p.width == 0 {
		for _, r := range rows {
			fmt.Fprintln(p.w, strings.Join(clean(r), "\t"))
		}
		return
	}
	widths := make([]int, len(header))
	for _, r := range append([][]string{header}, rows...) {
		for i, cell := range clean(r) {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	before := 0
	for _, w := range widths[:len(widths)-1] {
		before += w + 2
	}
	if last := p.width - before; last < minColumn {
		p.blocks(header, rows)
	} else {
		widths[len(widths)-1] = min(widths[len(widths)-1], last)
		p.row(widths, header, colorHead)
		for _, r := range rows {
			p.row(widths, clean(r), "")
		}
	}
}

// row prints one row; the last cell wraps under itself.
func (p *printer) row(widths []int, cells []string, color string) {
	last := len(widths) - 1
	lines := wrap(cells[last], widths[last])
	var b strings.Builder
	indent := 0
	for i, cell := range cells[:last] {
		b.WriteString(p.paint(color, cell) + strings.Repeat(" ", widths[i]-columns(cell)+2))
		indent += widths[i] + 2
	}
	for i, l := range lines {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(p.paint(color, l) + "\n")
	}
	io.WriteString(p.w, b.String())
}

// blocks is the form for narrow terminals.
func (p *printer) blocks(header []string, rows [][]string) {
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(p.w)
		}
		for j, cell := range clean(r) {
			if cell == "" {
				continue
			}
			for k, l := range wrap(header[j]+": "+cell, p.width-2) {
				if k > 0 {
					l = "  " + l
				}
				fmt.Fprintln(p.w, l)
			}
		}
	}
}

// clean keeps control characters of foreign text away from the terminal.
func clean(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = printable(c)
	}
	return out
}

// printable replaces what a terminal would act on: control characters, and the
// bidirectional and invisible characters that make text look like other text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || (r >= 0x7f && r < 0xa0),
			r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
			return '\ufffd'
		}
		return r
	}, s)
}

// columns is how many columns of a terminal text takes: characters of East
// Asian scripts take two, combining marks none.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// wrap breaks text at blanks into lines of at most most columns; a longer word
// is broken where it has to be.
func wrap(s string, most int) []string {
	if columns(s) <= most {
		return []string{s}
	}
	var lines []string
	line, used := []rune{}, 0
	end := func() { lines, line, used = append(lines, string(line)), line[:0:0], 0 }
	for _, word := range strings.Fields(s) {
		if used > 0 && used+1+columns(word) > most {
			end()
		}
		if used > 0 {
			line, used = append(line, ' '), used+1
		}
		for _, r := range word {
			if w := columnsOf(r); used > 0 && used+w > most {
				end()
			}
			line, used = append(line, r), used+columnsOf(r)
		}
	}
	return append(lines, string(line))
}

// counted is a number with its noun: 1 file, 2 files.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
