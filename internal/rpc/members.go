package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
)

// member is one key and value of a JSON object, the value as it stands.
type member struct {
	key   string
	value json.RawMessage
}

// members lists the members of the JSON object in raw, in order, repeated keys
// included. ok is false when raw is not an object.
//
// Precondition: raw is valid JSON (json.Valid), so that finding the end of a
// value needs no grammar, only strings and depth.
func members(raw []byte) (list []member, ok bool) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, false
	}
	i = skipSpace(raw, i+1)
	for i < len(raw) && raw[i] != '}' {
		end := skipString(raw, i)
		key := unquote(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = skipValue(raw, i)
		list = append(list, member{key, json.RawMessage(raw[i:end])})
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return list, true
}

// lookup gives the value of key in the object raw, or nil.
func lookup(raw []byte, key string) json.RawMessage {
	list, _ := members(raw)
	for _, m := range list {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// checkKeys refuses an object in which one of the known names is written more
// than once, or with other letters of the same case folding: encoding/json
// takes either for the known name and the last one wins, other parsers do not,
// and a client and this server must not see two different calls.
func checkKeys(list []member, known []string) error {
	seen := make(map[string]bool, len(list))
	for _, m := range list {
		if seen[m.key] {
			return fmt.Errorf("%q is given more than once", m.key)
		}
		seen[m.key] = true
		for _, name := range known {
			if m.key != name && strings.EqualFold(m.key, name) {
				return fmt.Errorf("%q is not a name used here: write %q", m.key, name)
			}
		}
	}
	return nil
}

// checkDeep refuses a repeated key in any object inside raw, in one pass: what
// is nested ten thousand deep costs no more than what is flat.
func checkDeep(raw []byte) error {
	var open []map[string]bool // one per object or array around the place; nil for an array
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			open = append(open, map[string]bool{})
		case '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			end := skipString(raw, i)
			if next := skipSpace(raw, end); next < len(raw) && raw[next] == ':' {
				key := unquote(raw[i:end])
				if open[len(open)-1][key] {
					return fmt.Errorf("%q is given more than once", key)
				}
				open[len(open)-1][key] = true
			}
			i = end - 1
		}
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString gives the index after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue gives the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unquote decodes a JSON string; text that is none gives "".
func unquote(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && !strings.ContainsRune(string(raw), '\\') {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
