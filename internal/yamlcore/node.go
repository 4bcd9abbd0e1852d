package yamlcore

import (
	"math/big"
	"strconv"
)

// Kind is the type of a node by the core schema.
type Kind uint8

// The kinds of node. The zero value is Null.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Seq
	Map
)

// String gives the kind in the words of an error message.
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a whole number", "a number", "text", "a list", "a map"}[k]
}

// Style is how a node was written.
type Style uint8

// The styles. Plain also stands for a value that was left out. Block and Flow
// are for sequences and maps.
const (
	Plain Style = iota
	SingleQuoted
	DoubleQuoted
	Literal
	Folded
	Block
	Flow
)

// Node is one value of a document.
//
// Line and Column say where it begins in the file, both from 1; columns count
// characters. Raw is the source text of a scalar as written (with its quotes,
// line ends as LF), empty for sequences and maps.
type Node struct {
	Kind   Kind
	Style  Style
	Line   int32
	Column int32
	Raw    string
	// Text is the value of a String, and the source text of a plain scalar
	// of another kind.
	Text string
	// Items holds the elements of a Seq in order.
	Items []*Node
	// Entries holds the pairs of a Map in order; keys are unique by value.
	Entries []Entry
}

// Entry is one pair of a Map. A key may be of any kind; neither is nil.
type Entry struct {
	Key, Value *Node
}

// Get gives the value under the text key, or nil when the node is not a map or
// has no such key. A key that is not text (1, true, null) never matches.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key.Kind == String && e.Key.Text == key {
			return e.Value
		}
	}
	return nil
}

// Str gives the value of a String node; ok is false for every other kind.
func (n *Node) Str() (value string, ok bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	return n.Text, true
}

// Bool gives the value of a Bool node; ok is false for every other kind.
func (n *Node) Bool() (value, ok bool) {
	if n == nil || n.Kind != Bool {
		return false, false
	}
	return n.Text[0] == 't' || n.Text[0] == 'T', true
}

// Int64 gives the value of an Int node, or of a Float without a fraction (1.0
// is 1). ok is false for other kinds and for values beyond int64.
func (n *Node) Int64() (value int64, ok bool) {
	if n == nil {
		return 0, false
	}
	switch n.Kind {
	case Int:
		digits, base := n.Text, 10
		if !isDecimal(n.Text) {
			digits, base = n.Text[2:], n.base()
		}
		v, err := strconv.ParseInt(digits, base, 64)
		if err != nil {
			return 0, false
		}
		return v, true
	case Float:
		f, _ := n.Number()
		// 2^63 is the first float that int64 cannot hold.
		if f >= -(1<<63) && f < 1<<63 && f == float64(int64(f)) {
			return int64(f), true
		}
	}
	return 0, false
}

// Number gives the value of an Int or Float node as the nearest float64, which
// may be infinite or not a number. ok is false for every other kind.
func (n *Node) Number() (value float64, ok bool) {
	if n == nil {
		return 0, false
	}
	switch n.Kind {
	case Int:
		if isDecimal(n.Text) {
			value, _ = strconv.ParseFloat(n.Text, 64)
			return value, true
		}
		value, _ = new(big.Float).SetInt(n.bigInt()).Float64()
		return value, true
	case Float:
		return parseFloat(n.Text), true
	}
	return 0, false
}

// bigInt gives the whole number an Int node stands for.
func (n *Node) bigInt() *big.Int {
	i := new(big.Int)
	if isDecimal(n.Text) {
		i.SetString(n.Text, 10)
	} else {
		i.SetString(n.Text[2:], n.base())
	}
	return i
}

// base gives the base of a whole number that is not decimal.
func (n *Node) base() int {
	if n.Text[1] == 'o' {
		return 8
	}
	return 16
}
