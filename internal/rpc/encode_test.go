package rpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

func FuzzStringsAreWrittenAsEncodingJSONReadsThem(f *testing.F) {
	for _, s := range []string{"", "plain", "q\"b\\", "\n\r\t\x00\x1f\x7f", "<&>", "é\u2028\u2029😀", "\xff\xfe", "a\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := appendString(nil, s)
		if bytes.IndexByte(out, '\n') >= 0 || !utf8.Valid(out) {
			t.Fatalf("%q became %q", s, out)
		}
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%q became %q: %v", s, out, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func TestToolResultsAreWrittenAsMcpGoWritesThem(t *testing.T) {
	meta := mcp.NewMetaFromMap(map[string]any{"k": "v"})
	for name, r := range map[string]*mcp.CallToolResult{
		"text":       mcp.NewToolResultText("a \"b\"\n<c>"),
		"error":      mcp.NewToolResultError("no"),
		"empty":      {},
		"structured": {Content: []mcp.Content{mcp.NewTextContent("x")}, StructuredContent: map[string]any{"a": 1.0}, IsError: true},
		"raw":        {Content: []mcp.Content{}, RawStructuredContent: json.RawMessage("{\"a\":\n1}")},
		"with meta":  {Result: mcp.Result{Meta: meta, ResultType: "complete"}, Content: []mcp.Content{mcp.NewTextContent("x")}},
		"asking": {Result: mcp.Result{ResultType: mcp.ResultTypeInputRequired}, MultiRoundTripResult: mcp.MultiRoundTripResult{
			RequestState:  "s",
			InputRequests: mcp.InputRequests{"q": mcp.NewElicitationInputRequest(mcp.ElicitationParams{Message: "m", RequestedSchema: map[string]any{}})},
		}},
		"others": {Content: []mcp.Content{
			mcp.TextContent{Type: "text", Text: "t", Meta: meta}, mcp.NewImageContent("AA==", "image/png"), &mcp.TextContent{Type: "text", Text: "p"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			frame, err := resultFrame(json.RawMessage("1"), r, "")
			if err != nil || bytes.IndexByte(frame, '\n') >= 0 {
				t.Fatalf("%s, %v", frame, err)
			}
			want, err := json.Marshal(mcp.JSONRPCResponse{JSONRPC: "2.0", ID: mcp.NewRequestId(1), Result: r})
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(frame, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("got  %s\nwant %s", frame, want)
			}
		})
	}
}

func FuzzWhatParseAcceptsIsWhatEncodingJSONReads(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"x","params":{"name":"n","arguments":{"a":[1,{"b":"}"}]}}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"action":"accept"}}`, `{"jsonrpc":"2.0","method":"n","params":{}}`, ` { "jsonrpc" : "2.0" , "id" : -1.5e3 , "method" : "\u0070ing" } `,
		`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"x"}`, `[1]`, `{}`, `null`, "{\"a\":\"\\\"}\"}", `{"id":1,"id":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		msg, id, fault := Parse(line)
		if fault != nil {
			if !json.Valid(Refusal(id, fault)) {
				t.Fatalf("refused with %q", Refusal(id, fault))
			}
			return
		}
		var want struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("accepted %q: %v", line, err)
		}
		if msg.Kind == Request && (!bytes.Equal(msg.ID, want.ID) || msg.Method != want.Method) {
			t.Fatalf("%q: read %s %q, encoding/json reads %s %q", line, msg.ID, msg.Method, want.ID, want.Method)
		}
		if msg.Kind == Request && msg.Params != nil && !bytes.Equal(bytes.TrimSpace(msg.Params), bytes.TrimSpace(want.Params)) {
			t.Fatalf("%q: read %s, encoding/json reads %s", line, msg.Params, want.Params)
		}
	})
}

func FuzzRepeatedKeysAreFoundAtAnyDepth(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[{"d":1,"d":2}]}}`))
	f.Add([]byte(`{"a":"a\":1","b":{"a":[1,"a"]}}`))
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		if got, want := checkDeep(raw) != nil, repeats(raw); got != want {
			t.Fatalf("%q: refused %v, has repeated keys %v", raw, got, want)
		}
	})
}

// repeats looks for repeated keys with encoding/json's own tokens.
func repeats(raw []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	type level struct {
		seen  map[string]bool
		isKey bool
	}
	var open []level
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if n := len(open); n > 0 && open[n-1].seen != nil {
			if key, ok := token.(string); ok && open[n-1].isKey {
				if open[n-1].seen[key] {
					return true
				}
				open[n-1].seen[key], open[n-1].isKey = true, false
				continue
			}
			open[n-1].isKey = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{map[string]bool{}, true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

func TestDeepNestingCostsNoMoreThanItsLength(t *testing.T) {
	deep := strings.Repeat("[", 9000) + `"` + strings.Repeat("x", 4<<20) + `"` + strings.Repeat("]", 9000)
	if !json.Valid([]byte(deep)) || checkDeep([]byte(deep)) != nil {
		t.Error("refused")
	}
}

// TestDocumentsAreWrittenAsTheyWouldBeInOneString: the frame of a document, of
// this package's encoder or another, is that of the text it stands for.
func TestDocumentsAreWrittenAsTheyWouldBeInOneString(t *testing.T) {
	raw := "\x00\xff\x80abc"
	d, err := NewDocument(`{"a":"\"b\":\"\"","b":"","c":1,"b":"","d":"é"}`, []string{"b", "b"}, []Fill{{Text: "x\"\\\n\u2028y"}, {Text: raw, Base64: true}})
	if err != nil {
		t.Fatal(err)
	}
	text := `{"a":"\"b\":\"\"","b":"x\"\\\n\u2028y","c":1,"b":"AP+AYWJj","d":"é"}`
	for _, structured := range []bool{false, true} {
		want := mcp.NewToolResultText(text)
		if structured {
			want.RawStructuredContent = json.RawMessage(text)
		}
		got := NewDocumentResult(d, structured)
		a, errA := resultFrame(json.RawMessage("1"), got, "")
		b, errB := resultFrame(json.RawMessage("1"), want, "")
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s\n%s %v %v", a, b, errA, errB)
		}
		other, err := json.Marshal(got.Content)
		if plain, _ := json.Marshal(want.Content); err != nil || string(other) != string(plain) {
			t.Errorf("%s\n%s %v", other, plain, err)
		}
	}
	if d.Len() != len(text) || d.WireLen() != len(appendString(nil, text))-2 {
		t.Errorf("%d and %d bytes", d.Len(), d.WireLen())
	}
	if _, err := NewDocument(`{"a":"\"b\":\"\""}`, []string{"b"}, make([]Fill, 1)); err == nil {
		t.Error("a text without a place is put somewhere")
	}
}
