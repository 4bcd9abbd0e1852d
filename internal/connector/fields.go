package connector

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"skill-mcp/internal/strictjson"
)

// known refuses keys that the format does not have.
func (r reader) known(v *strictjson.Value, at string, keys ...string) {
	for _, m := range v.Members {
		if !slices.Contains(keys, m.Key) {
			r.fail("unknown-field", at+show(m.Key), "is not a field here (fields: %s)", strings.Join(keys, ", "))
		}
	}
}

// need gives a field that must be there.
func (r reader) need(v *strictjson.Value, at, key string) *strictjson.Value {
	f := v.Get(key)
	if f == nil {
		r.fail("required", at+key, "is missing")
	}
	return f
}

// object checks the type.
func (r reader) object(v *strictjson.Value, path string) bool {
	if v.Kind != strictjson.Object {
		r.fail("type", path, "is %s and has to be an object", v.Kind)
		return false
	}
	return true
}

// text gives a string that is not blank; "" when it is absent or wrong.
func (r reader) text(v *strictjson.Value, path string, most int) string {
	s := r.textOrEmpty(v, path, most)
	if v != nil && v.Kind == strictjson.String && strings.TrimSpace(s) == "" {
		r.fail("empty", path, "is empty")
	}
	return s
}

// textOrEmpty gives a string within its bound, in characters.
func (r reader) textOrEmpty(v *strictjson.Value, path string, most int) string {
	if v == nil {
		return ""
	}
	if v.Kind != strictjson.String {
		r.fail("type", path, "is %s and has to be text", v.Kind)
		return ""
	}
	if n := utf8.RuneCountInString(v.Text); n > most {
		r.over("too-long", path, most, "has %d characters, at most %d", n, most)
	}
	if strings.ContainsRune(v.Text, 0) {
		r.fail("type", path, "holds a NUL character")
	}
	return v.Text
}

// list gives a list of strings; nil when it is absent or no list. Blank items
// are kept where blank says so.
func (r reader) list(v *strictjson.Value, path string, most, mostEach int, blank bool) []string {
	if v == nil {
		return nil
	}
	if v.Kind != strictjson.Array {
		r.fail("type", path, "is %s and has to be a list", v.Kind)
		return nil
	}
	if len(v.Items) > most {
		r.over("too-many", path, most, "has %d items, at most %d", len(v.Items), most)
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for i := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if blank {
			out = append(out, r.textOrEmpty(&v.Items[i], at, mostEach))
		} else {
			out = append(out, r.text(&v.Items[i], at, mostEach))
		}
	}
	return out
}

// show makes a foreign key safe to print in a path.
func show(key string) string {
	if nameLike(key) {
		return key
	}
	return fmt.Sprintf("%.64q", key)
}

func nameLike(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}
