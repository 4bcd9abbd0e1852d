package rpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// FuzzElicited: only an object whose member action is the word accept, in
// exactly this writing and once, can be read as an answer of yes.
func FuzzElicited(f *testing.F) {
	for _, s := range []string{
		`{"action":"accept","content":{"confirmed":true}}`, `{"action":"decline"}`, `{"action":"cancel"}`, `{"Action":"accept"}`, `{"action":"decline","Action":"accept"}`,
		`{"action":"decline","action":"accept"}`, `{"action":["accept"]}`, `{"action":"Accept"}`, `"accept"`, `null`, `{"action":"accept","content":{"a":{"a":1,"a":2}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the message it is a part of was refused
		}
		got := readElicited(raw)
		if got == nil {
			t.Fatal("no answer at all")
		}
		if got.Action != mcp.ElicitationResponseActionAccept {
			return
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		var members map[string]json.RawMessage
		if err := d.Decode(&members); err != nil {
			t.Fatalf("%q is read as yes: %v", raw, err)
		}
		var word string
		if json.Unmarshal(members["action"], &word) != nil || word != "accept" {
			t.Fatalf("%q is read as yes", raw)
		}
	})
}
