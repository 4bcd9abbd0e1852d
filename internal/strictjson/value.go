package strictjson

import "fmt"

// Kind is the type of a JSON value.
type Kind int

// The six kinds of JSON value.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String is the kind as a person reads it in a message.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is one value and its place in the document.
type Value struct {
	Kind    Kind
	Bool    bool     // of a Bool
	Text    string   // of a String its text; of a Number its literal, as written
	Items   []Value  // of an Array
	Members []Member // of an Object, in the order of the document
	Line    int      // 1 is the first
	Column  int      // in bytes, 1 is the first
}

// Member is one key of an object with its value. Keys are unique.
type Member struct {
	Key   string
	Value Value
}

// Get gives the member of an object by its exact key, or nil. It may be called
// on any kind.
func (v *Value) Get(key string) *Value {
	for i := range v.Members {
		if v.Members[i].Key == key {
			return &v.Members[i].Value
		}
	}
	return nil
}

// SyntaxError is the first place where a document is not strict JSON. Detail
// never repeats what the document says but for single characters.
type SyntaxError struct {
	Line, Column int
	Detail       string
}

// Error gives place and cause in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}
