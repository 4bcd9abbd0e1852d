package main

import (
	"fmt"
	"strings"
)

// table is what a measurement hands over: cells for people, goals for the
// summary, a plot, and remarks. It crosses between processes as JSON.
type table struct {
	Title  string
	Header []string
	Rows   [][]string
	Notes  []string
	Goals  []goal
	Plots  []plot
}

// goal is one figure that was promised.
type goal struct {
	What   string // what is bounded, for a reader who sees no more
	Bound  string // the bound in words
	Figure string
	Met    bool
}

// atMost is a goal that a figure stays below a bound, at a time or a size.
func atMost(what string, got, bound float64, unit string) goal {
	return goal{what, strings.TrimSpace(fmt.Sprintf("at most %g %s", bound, unit)), strings.TrimSpace(fmt.Sprintf("%.2f %s", got, unit)), got <= bound}
}

// atLeast is a goal that a figure reaches a bound.
func atLeast(what string, got, bound float64, unit string) goal {
	return goal{what, strings.TrimSpace(fmt.Sprintf("at least %g %s", bound, unit)), strings.TrimSpace(fmt.Sprintf("%.2f %s", got, unit)), got >= bound}
}

// ratioAtMost is a goal for a ratio; its interval is shown.
func ratioAtMost(what string, got ratio, bound float64) goal {
	return goal{what, fmt.Sprintf("at most %g", bound), got.String(), got.Value <= bound}
}

// verdict is the last cell of a goal.
func (g goal) verdict() string {
	if g.Met {
		return "met"
	}
	return "**not met**"
}

// markdown is the table as it is printed and as it stands in the document.
func (t table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Header, " | "), strings.Repeat("---|", len(t.Header)))
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	if len(t.Goals) > 0 {
		b.WriteString("\n")
	}
	for _, g := range t.Goals {
		fmt.Fprintf(&b, "- %s: %s, %s: %s\n", g.What, g.Bound, g.Figure, g.verdict())
	}
	return b.String()
}
