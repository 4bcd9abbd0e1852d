package yamlcore

import (
	"fmt"
	"math"
	"strconv"
)

// keySet finds keys that are there twice, by value: 1 and 0x1 are one key, 1
// and "1" are two. Sequences and maps as keys are never equal. The zero value
// is empty.
type keySet struct {
	first *Node            // the first key, while it is the only one
	seen  map[string]int32 // lines of the keys, by kind and value
}

// add takes a key in, or gives an *Error when its value is in already.
func (s *keySet) add(key *Node) error {
	if s.first == nil {
		s.first = key
		return nil
	}
	if s.seen == nil {
		s.seen = make(map[string]int32, 8)
		if id, ok := identity(s.first); ok {
			s.seen[id] = s.first.Line
		}
	}
	id, ok := identity(key)
	if !ok {
		return nil
	}
	if line, dup := s.seen[id]; dup {
		what := "the empty key"
		if key.Raw != "" {
			what = "the key " + shorten(key.Raw)
		}
		return &Error{Line: int(key.Line), Column: int(key.Column),
			Met: fmt.Sprintf("%s for the second time, first on line %d", what, line), Hint: "keep one of them"}
	}
	s.seen[id] = key.Line
	return nil
}

// identity gives a text that is the same for equal scalars; ok is false for
// what equals nothing.
func identity(n *Node) (id string, ok bool) {
	switch n.Kind {
	case String:
		return "s" + n.Text, true
	case Null:
		return "n", true
	case Bool:
		v, _ := n.Bool()
		return strconv.FormatBool(v), true
	case Int, Float:
		f, _ := n.Number()
		if math.IsNaN(f) {
			return "", false
		}
		return "f" + strconv.FormatFloat(f+0, 'g', -1, 64), true
	}
	return "", false
}

// shorten cuts text for a message.
func shorten(s string) string {
	const most = 60
	r := []rune(s)
	if len(r) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(string(r[:most]) + "…")
}
