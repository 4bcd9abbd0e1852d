package policyfile

import (
	"fmt"
	"sort"
	"strings"
)

// Problem is one mistake in a policy file. Line and Column count from 1 and
// columns count characters; both are 0 when the file as a whole is meant.
type Problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"` // what is wrong and what would be right
}

// Problems are all mistakes of one file, in file order.
type Problems struct {
	File string
	List []Problem
}

// Error gives one line per mistake: file:line:column: text.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, one := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		if one.Line == 0 {
			fmt.Fprintf(&b, "%s: %s", p.File, one.Text)
			continue
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, one.Line, one.Column, one.Text)
	}
	return b.String()
}

// sorted orders the mistakes by place.
func (p *Problems) sorted() *Problems {
	sort.SliceStable(p.List, func(i, j int) bool {
		a, b := p.List[i], p.List[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return p
}
