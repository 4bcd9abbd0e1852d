package yamlcore

import "fmt"

// Error says where a text stops being YAML that is accepted here, and why.
type Error struct {
	// Line and Column are the place in the file, both from 1; columns count
	// characters.
	Line, Column int
	// Met says what was found there.
	Met string
	// Hint says what to change, for the commonest breaks; else empty.
	Hint string
}

// Error gives everything in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Met)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Hints for the breaks that real files show most.
const (
	hintQuote   = "put the whole value in quotes"
	hintIndent  = "indent a value that goes on, or write it in one line"
	hintSpaces  = "indent with spaces"
	hintEscape  = `inside double quotes a backslash is written \\; single quotes need no escapes`
	hintComment = "put a blank before #, or the whole value in quotes"
)
