package yamlcore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// JSON gives the node as compact JSON with the same content: all keys in
// order, numbers of any size with all their digits, text untouched. It fails
// for infinity and what is no number, and for a map whose keys are different
// values but the same JSON key (1 and "1").
func (n *Node) JSON() ([]byte, error) {
	var out bytes.Buffer
	if err := n.writeJSON(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (n *Node) writeJSON(out *bytes.Buffer) error {
	switch n.Kind {
	case Seq:
		return n.writeItems(out)
	case Map:
		return n.writeEntries(out)
	case String:
		return writeText(out, n.Text)
	case Null:
		out.WriteString("null")
	case Bool:
		v, _ := n.Bool()
		out.WriteString(strconv.FormatBool(v))
	default:
		s, err := n.number()
		if err != nil {
			return err
		}
		out.WriteString(s)
	}
	return nil
}

func (n *Node) writeItems(out *bytes.Buffer) error {
	out.WriteByte('[')
	for i, item := range n.Items {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := item.writeJSON(out); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func (n *Node) writeEntries(out *bytes.Buffer) error {
	seen := make(map[string]bool, len(n.Entries))
	out.WriteByte('{')
	for i, e := range n.Entries {
		key := e.Key.keyText()
		if seen[key] {
			return &Error{Line: int(e.Key.Line), Column: int(e.Key.Column),
				Met: "a key that is " + shorten(key) + " in JSON like one before it", Hint: "give it another name"}
		}
		seen[key] = true
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeText(out, key); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := e.Value.writeJSON(out); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// writeText writes a JSON string, without the escapes that only HTML needs.
func writeText(out *bytes.Buffer, s string) error {
	if plainJSON(s) {
		out.WriteByte('"')
		out.WriteString(s)
		out.WriteByte('"')
		return nil
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line end that Encode adds
	return nil
}

// plainJSON reports whether a text needs no escape in JSON.
func plainJSON(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c > 0x7E || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// number gives an Int or Float as a JSON number with all its digits.
func (n *Node) number() (string, error) {
	if n.Kind == Int && isDecimal(n.Text) {
		return floatJSON(n.Text), nil
	}
	if n.Kind == Int {
		return n.bigInt().String(), nil
	}
	f, _ := n.Number()
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", &Error{Line: int(n.Line), Column: int(n.Column),
			Met: fmt.Sprintf("the number %s, which JSON cannot say", n.Text), Hint: hintQuote}
	}
	return floatJSON(n.Text), nil
}

// floatJSON rewrites a decimal number of the core schema by the grammar of JSON: no
// plus sign, digits on both sides of a point, no leading zeros.
func floatJSON(s string) string {
	sign := ""
	if s[0] == '-' {
		sign = "-"
	}
	s = s[signLen(s):]
	mantissa, exp := s, ""
	if k := strings.IndexAny(s, "eE"); k >= 0 {
		mantissa, exp = s[:k], s[k:]
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if part != "" {
		part = "." + part
	}
	return sign + whole + part + exp
}

// keyText gives a map key as the text of a JSON key, as JavaScript has it.
func (n *Node) keyText() string {
	switch n.Kind {
	case String:
		return n.Text
	case Null:
		return ""
	case Bool:
		v, _ := n.Bool()
		return strconv.FormatBool(v)
	case Int, Float:
		return numberKey(n)
	}
	return n.flowText()
}

// numberKey gives a number as JavaScript writes it.
func numberKey(n *Node) string {
	f, _ := n.Number()
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	}
	b, err := json.Marshal(f)
	if err != nil {
		return n.Text
	}
	return string(b)
}

// flowText writes a sequence or map that is a key in one line of flow style.
func (n *Node) flowText() string {
	var parts []string
	left, right := "{ ", " }"
	if n.Kind == Seq {
		left, right = "[ ", " ]"
		for _, item := range n.Items {
			parts = append(parts, item.flowText())
		}
	}
	for _, e := range n.Entries {
		s := e.Key.flowText()
		if e.Value.Kind != Null || e.Value.Raw != "" {
			s += ": " + e.Value.flowText()
		}
		parts = append(parts, s)
	}
	if n.Kind != Seq && n.Kind != Map {
		return n.Raw
	}
	if len(parts) == 0 {
		return left[:1] + right[1:]
	}
	return left + strings.Join(parts, ", ") + right
}
