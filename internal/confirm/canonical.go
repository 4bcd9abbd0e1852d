package confirm

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
)

// Canonical returns the one JSON text of v: keys sorted by UTF-16 unit, keys
// that begin with "$" given one more, no blanks. Two values have the same
// canonical text exactly when they are the same JSON value.
func Canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode for the digest: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("encode for the digest: %w", err)
	}
	var b bytes.Buffer
	if err := canonical(&b, tree); err != nil {
		return nil, fmt.Errorf("encode for the digest: %w", err)
	}
	return b.Bytes(), nil
}

// canonical writes one decoded value.
func canonical(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		return canonicalObject(b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := canonical(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	default:
		text, err := json.Marshal(v)
		b.Write(text)
		return err
	}
}

// canonicalObject writes a map with its keys in order.
func canonicalObject(b *bytes.Buffer, m map[string]any) error {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return lessUTF16(keys[i], keys[j]) })
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name := k
		if strings.HasPrefix(k, "$") {
			name = "$" + k
		}
		text, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b.Write(text)
		b.WriteByte(':')
		if err := canonical(b, m[k]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// lessUTF16 orders as JavaScript does: by UTF-16 code unit.
func lessUTF16(a, b string) bool {
	x, y := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}

// Call is one call as the gate sees it. Details is everything the person is
// shown; Args are the arguments of the call without its token.
type Call struct {
	Tool    string // the tool, e.g. "skill_run"
	Action  string // the word for people, e.g. "skill.run"
	Target  string // what is acted on, e.g. "<skill>/<script>"
	Details any    // encoded as JSON
	Args    any    // encoded as JSON
}

// Hash is the unpadded base64url SHA-256 over the canonical details and
// arguments: two calls have the same hash exactly when a person would be shown
// the same thing for them.
func (c Call) Hash() (string, error) {
	text, err := Canonical(map[string]any{"payload": c.Details, "args": c.Args})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
