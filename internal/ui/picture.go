package ui

import (
	"fmt"
	"strings"

	"skill-mcp/internal/mcpserver"
	"skill-mcp/internal/policy"
)

// picture is what one script may reach, laid out for SVG: the script inside
// the fence on the left, what lies outside on the right, and one gate in the
// fence for each kind. An open gate has an arrow in the direction in which
// bytes go; a closed one has a bar. All numbers are units of the view box.
type picture struct {
	ID            string // unique on the page
	Title, Desc   string // what a screen reader says
	Height        int
	Script        []line
	Below         []line // interpreter and time limit
	Gates         []gate
	FenceTop      int
	FenceBottom   int
	Words         []fact // the same as text, nothing cut
	Runs          bool
	InsideHeight  int
	OutsideX      int
	FenceX, TextX int
}

// line is one line of text at its baseline.
type line struct {
	Y    int
	Text string
}

// gate is one kind of thing with its arrow and the card behind it.
type gate struct {
	Kind   string // reads, writes, hosts, env: the colour
	Label  string
	Open   bool
	In     bool // bytes come in
	Out    bool // bytes go out
	Y      int  // of the card
	Height int
	Mid    int // of the arrow
	Lines  []line
}

// fact is one row of the picture in words.
type fact struct {
	Label string
	Items []string
}

// The measures of the picture: it is drawn for the width of a telephone.
const (
	cardWidth  = 28 // characters of a line in a card: 180 units at 6.3 each
	nameWidth  = 14 // characters of a line of the script's name
	lineHeight = 15
	headHeight = 24
	cardGap    = 10
	mostItems  = 6 // a card names; the words below the picture have all
	mostLines  = 3 // an item takes
)

// draw lays a script's picture out. number makes its id unique on the page.
func draw(number int, skill string, s mcpserver.ScriptOverview) picture {
	p := picture{
		ID: fmt.Sprintf("reach-%d", number), Runs: s.Asked && s.Why == "", FenceX: 136, OutsideX: 162, TextX: 172,
		Title: fmt.Sprintf("What %s of %s may reach", clean(s.Path), clean(skill)),
	}
	y := 10
	for _, k := range kinds(s) {
		g := k.gate(y)
		y += g.Height + cardGap
		p.Gates = append(p.Gates, g)
		p.Words = append(p.Words, fact{k.label, k.words()})
	}
	p.Height = y - cardGap + 10
	p.FenceTop, p.FenceBottom, p.InsideHeight = 4, p.Height-4, p.Height-20
	p.name(s)
	p.Desc = describe(p)
	return p
}

// name puts the script's name, its interpreter and its time limit in the middle.
func (p *picture) name(s mcpserver.ScriptOverview) {
	lines := wrapPath(clean(s.Path), nameWidth, 5)
	below := []string{clean(s.Interpreter)}
	if s.TimeoutMs > 0 {
		below = append(below, "at most "+secondsText(s.TimeoutMs))
	}
	y := p.Height/2 - (len(lines)+len(below))*lineHeight/2 + 11
	for _, l := range lines {
		p.Script = append(p.Script, line{y, l})
		y += lineHeight
	}
	for _, l := range below {
		p.Below = append(p.Below, line{y + 3, l})
		y += lineHeight
	}
}

// kind is one of the four kinds of things with what a script gets of it.
type kind struct {
	id, label string
	in, out   bool
	given     []string // by every run, in words
	items     []string // by name
	none      string   // what is said when there is nothing
}

// kinds says what a script gets, or asks for when it does not run.
func kinds(s mcpserver.ScriptOverview) []kind {
	if !s.Asked || s.Why != "" {
		return []kind{
			{id: "reads", label: "Reads", none: "nothing: it does not run"},
			{id: "writes", label: "Writes", none: "nothing: it does not run"},
			{id: "hosts", label: "Hosts", none: asks(s.Hosts, "no host")},
			{id: "env", label: "Variables", none: asks(s.Env, "no variable")},
		}
	}
	home := kind{id: "reads", label: "Reads", in: true, given: []string{"its own skill", s.Interpreter + ", system libraries"}, items: s.Reads}
	writes := kind{id: "writes", label: "Writes", out: true, given: []string{"a scratch folder of its own"}, items: s.Writes}
	hosts := kind{id: "hosts", label: "Hosts", in: true, out: true, items: s.Hosts, none: "no network"}
	switch policy.Network(s.Network) {
	case policy.NetProxy:
		hosts.given = []string{"the proxy of the environment"}
	case policy.NetOpen:
		hosts.given = []string{"every host: the network is open"}
	}
	env := kind{id: "env", label: "Variables", in: true, items: s.Env, none: "none"}
	return []kind{home, writes, hosts, env}
}

// asks is what a script that does not run would like to have.
func asks(names []string, none string) string {
	if len(names) == 0 {
		return "asks for " + none
	}
	return "asks for " + strings.Join(names, ", ")
}

// open reports whether there is anything.
func (k kind) open() bool { return len(k.given)+len(k.items) > 0 }

// words are all items, or the sentence that there are none.
func (k kind) words() []string {
	if !k.open() {
		return []string{k.none}
	}
	return append(append([]string{}, k.given...), k.items...)
}

// gate lays one card out, with its top at y.
func (k kind) gate(y int) gate {
	g := gate{Kind: k.id, Label: k.label, Open: k.open(), In: k.in, Out: k.out, Y: y}
	words := k.words()
	named := words
	if most := len(k.given) + mostItems; len(named) > most {
		named = append(append([]string{}, named[:most-1]...), fmt.Sprintf("and %d more, listed below", len(words)-most+1))
	}
	at := y + headHeight + 9
	for _, w := range named {
		for _, l := range wrapPath(clean(w), cardWidth, mostLines) {
			g.Lines = append(g.Lines, line{at, l})
			at += lineHeight
		}
	}
	g.Height = at - y - lineHeight + 10
	g.Mid = y + g.Height/2
	return g
}

// describe is the picture in one paragraph.
func describe(p picture) string {
	var parts []string
	for _, w := range p.Words {
		parts = append(parts, w.Label+": "+clean(strings.Join(w.Items, ", "))+".")
	}
	return strings.Join(parts, " ")
}

// wrapPath breaks text into lines of at most width characters, behind a blank,
// comma, slash, dash or dot where there is one; what needs more than most lines
// is cut in its middle, since both ends of a path say something.
func wrapPath(s string, width, most int) []string {
	r := []rune(s)
	if limit := width*most - most; len(r) > limit {
		r = []rune(string(r[:limit/3]) + "…" + string(r[len(r)-(limit-limit/3-1):]))
	}
	var lines []string
	for len(r) > width {
		n := breakAt(r[:width])
		if len(lines) == most-1 {
			return append(lines, string(r[:width-1])+"…")
		}
		lines = append(lines, strings.TrimRight(string(r[:n]), " "))
		r = []rune(strings.TrimLeft(string(r[n:]), " "))
	}
	return append(lines, string(r))
}

// breakAt finds the last good place to break a line, or its end: behind a blank
// or a slash, else behind another mark of the second half, since a break in the
// first half wastes more than it helps.
func breakAt(r []rune) int {
	for i := len(r); i > 4; i-- {
		if r[i-1] == ' ' || r[i-1] == '/' {
			return i
		}
	}
	for i := len(r); i > len(r)/2; i-- {
		if strings.ContainsRune(",-._", r[i-1]) {
			return i
		}
	}
	return len(r)
}
