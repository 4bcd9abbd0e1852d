package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// plot is a picture of a table: bars by name, or lines over numbers. Both axes
// of lines are logarithmic, since sizes are; bars begin at zero, either way.
type plot struct {
	File   string // name of the SVG file
	Title  string
	X, Y   string // what the axes count, with the unit
	Names  []string
	Series []series
}

// series is one line of a plot, or one colour of bars.
type series struct {
	Name string
	X    []float64 // for lines; empty for bars
	Y    []float64
}

// Geometry of every plot, in pixels.
const (
	plotWidth  = 760
	lineHeight = 380
	barStep    = 24
	marginL    = 70
	nameWidth  = 7 // of a character, about
	marginR    = 60
	marginT    = 64
	marginB    = 52
)

// colours of series, readable on white and on black.
func colours() []string { return []string{"#2f7ed8", "#d9822b", "#3a9d5d", "#b0528f"} }

// style makes text and lines follow the reader's light or dark page.
const style = `<style>text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:15px}.g{stroke:#8c959f;stroke-opacity:.35}.a{stroke:#57606a}.b{fill:#fff}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{stroke:#9198a1}.b{fill:#0d1117}}</style>`

// svg draws the plot.
func (p plot) svg() string {
	if len(p.Names) > 0 {
		return p.bars()
	}
	return p.lines()
}

// begin opens a picture of a height, with its title and the names of its series.
func (p plot) begin(height int) *strings.Builder {
	b := &strings.Builder{}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">%s`, plotWidth, height, html.EscapeString(p.Title), style)
	fmt.Fprintf(b, "\n"+`<rect class="b" width="100%%" height="100%%"/><text class="t" x="14" y="22">%s</text>`, html.EscapeString(p.Title))
	x := 14
	for i, s := range p.Series {
		if len(p.Series) == 1 {
			break
		}
		fmt.Fprintf(b, "\n"+`<rect x="%d" y="33" width="12" height="12" fill="%s"/><text x="%d" y="44">%s</text>`, x, colours()[i%4], x+17, html.EscapeString(s.Name))
		x += 40 + 8*len(s.Name)
	}
	return b
}

// bars draws one group of bars a name. What is below zero goes to the left.
func (p plot) bars() string {
	group := barStep*len(p.Series) + 8
	height := marginT + group*len(p.Names) + marginB
	b := p.begin(height)
	left := marginL
	for _, name := range p.Names {
		left = max(left, 24+nameWidth*len(name))
	}
	least, most, step := p.span()
	at := func(v float64) float64 { return float64(left) + (v-least)/(most-least)*float64(plotWidth-left-marginR) }
	for v := least; v <= most+step/2; v += step {
		fmt.Fprintf(b, "\n"+`<path class="g" d="M%.1f %dV%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`, at(v), marginT, height-marginB, at(v), height-marginB+18, number(v))
	}
	for i, name := range p.Names {
		top := marginT + group*i + 4
		fmt.Fprintf(b, "\n"+`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, top+(group-8)/2+2, html.EscapeString(name))
		for j, s := range p.Series {
			v := s.Y[i]
			if math.IsNaN(v) {
				continue
			}
			from, to := at(math.Min(v, 0)), at(math.Max(v, 0))
			fmt.Fprintf(b, "\n"+`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s</text>`,
				from, top+barStep*j, to-from, barStep-6, colours()[j%4], to+5, top+barStep*j+14, number(v))
		}
	}
	fmt.Fprintf(b, "\n"+`<path class="a" d="M%.1f %dV%d"/><text x="%d" y="%d" text-anchor="end">%s</text></svg>`+"\n",
		at(0), marginT, height-marginB, plotWidth-marginR, height-10, html.EscapeString(p.Y))
	return b.String()
}

// span gives the ends of the axis of bars, and its step.
func (p plot) span() (least, most, step float64) {
	for _, s := range p.Series {
		for _, v := range s.Y {
			if !math.IsNaN(v) {
				least, most = math.Min(least, v), math.Max(most, v)
			}
		}
	}
	step = niceStep(most - least)
	least, most = math.Floor(least/step)*step, math.Ceil(most/step)*step
	if least == most {
		most = step
	}
	return least, most, step
}

// lines draws series over numbers, both axes logarithmic.
func (p plot) lines() string {
	b := p.begin(lineHeight)
	lowX, highX, lowY, highY := p.extent()
	at := func(v, low, high, from, to float64) float64 {
		return from + (math.Log(v)-math.Log(low))/(math.Log(high)-math.Log(low))*(to-from)
	}
	px := func(v float64) float64 { return at(v, lowX, highX, marginL, plotWidth-marginR) }
	py := func(v float64) float64 { return at(v, lowY, highY, lineHeight-marginB, marginT) }
	for _, v := range ticks(lowY, highY) {
		fmt.Fprintf(b, "\n"+`<path class="g" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, marginL, py(v), plotWidth-marginR, marginL-6, py(v)+4, number(v))
	}
	for i, v := range p.Series[0].X {
		if i > 0 && px(v)-px(p.Series[0].X[i-1]) < 30 {
			continue
		}
		fmt.Fprintf(b, "\n"+`<path class="g" d="M%.1f %dV%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`, px(v), marginT, lineHeight-marginB, px(v), lineHeight-marginB+18, p.size(v))
	}
	for i, s := range p.Series {
		var points []string
		for j := range s.X {
			points = append(points, fmt.Sprintf("%.1f,%.1f", px(s.X[j]), py(s.Y[j])))
			fmt.Fprintf(b, "\n"+`<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, px(s.X[j]), py(s.Y[j]), colours()[i%4])
		}
		fmt.Fprintf(b, "\n"+`<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`, colours()[i%4], strings.Join(points, " "))
	}
	fmt.Fprintf(b, "\n"+`<path class="a" fill="none" d="M%d %dV%dH%d"/>`, marginL, marginT, lineHeight-marginB, plotWidth-marginR)
	fmt.Fprintf(b, "\n"+`<text x="%d" y="%d" text-anchor="end">%s</text><text transform="rotate(-90 16 %d)" x="16" y="%d" text-anchor="middle">%s</text></svg>`+"\n",
		plotWidth-marginR, lineHeight-10, html.EscapeString(p.X), lineHeight/2, lineHeight/2, html.EscapeString(p.Y))
	return b.String()
}

// extent gives the ends of both axes; that of y reaches to powers of ten.
func (p plot) extent() (lowX, highX, lowY, highY float64) {
	lowX, lowY = math.Inf(1), math.Inf(1)
	for _, s := range p.Series {
		for i := range s.X {
			lowX, highX = math.Min(lowX, s.X[i]), math.Max(highX, s.X[i])
			lowY, highY = math.Min(lowY, s.Y[i]), math.Max(highY, s.Y[i])
		}
	}
	lowY, highY = math.Pow(10, math.Floor(math.Log10(lowY))), math.Pow(10, math.Ceil(math.Log10(highY)))
	if highY == lowY {
		highY *= 10
	}
	return lowX, math.Max(highX, lowX*2), lowY, highY
}

// ticks are the lines of a logarithmic axis: powers of ten, and 2 and 5 of each
// where there are few.
func ticks(low, high float64) (out []float64) {
	parts := []float64{1}
	if high <= low*100 {
		parts = []float64{1, 2, 5}
	}
	for v := low; v <= high*1.01; v *= 10 {
		for _, f := range parts {
			if v*f <= high*1.01 {
				out = append(out, v*f)
			}
		}
	}
	return out
}

// size is a number of the axis of lines: bytes by the units that people read.
func (p plot) size(v float64) string {
	if !strings.Contains(p.X, "bytes") {
		return number(v)
	}
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if v < 1024 {
			return number(v) + " " + unit
		}
		v /= 1024
	}
	return number(v) + " GiB"
}

// niceStep is a step of 1, 2 or 5 times a power of ten with at most eight in most.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/8)))
	for _, f := range []float64{1, 2, 5} {
		if most/(step*f) <= 8 {
			return step * f
		}
	}
	return step * 10
}

// number is a figure with as many digits as a reader of a picture needs.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
