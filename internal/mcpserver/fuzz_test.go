package mcpserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// TestASecretThatIsCutIsNotShown: a key that the limit of an error text cuts
// to less than its shape is removed all the same.
func TestASecretThatIsCutIsNotShown(t *testing.T) {
	key := "ghp_abcdefghij1234567890"
	for short := 1; short < len(key); short++ {
		r := failure(strings.Repeat(". ", (maxErrorText-short)/2)+key, "")
		if text := r.Content[0].(mcp.TextContent).Text; strings.Contains(text, "ghp_") {
			t.Errorf("%d: %q", short, text[len(text)-40:])
		}
	}
}

func TestRedaction(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"open /a: permission denied", "open /a: permission denied"},
		{"Authorization: Bearer abcdefghijk", "Authorization: [REDACTED]"},
		{"got Bearer abcdefghijkl", "got Bearer [REDACTED]"},
		{"x eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM y", "x [REDACTED] y"},
		{"key " + "sk-" + strings.Repeat("aB3", 8) + " end", "key [REDACTED] end"},
		{"ghp_abcdefghij1234567890", "[REDACTED]"},
		{"https://h/p?token=abc&x=1", "https://h/p?token=[REDACTED]&x=1"},
		{`{"password": "a\"b", "n": 1}`, `{"password": "[REDACTED]", "n": 1}`},
		{`{"refreshToken":"abc","x":"y"}`, `{"refreshToken":"[REDACTED]","x":"y"}`},
		{`say "{\"client_secret\":\"abc\",\"n\":1}"`, `say "{\"client_secret\":\"[REDACTED]\",\"n\":1}"`},
		{`{"token": "cut in the midd`, `{"token": "[REDACTED]`},
		{"https://h/cb#access_token=abc&x=1", "https://h/cb#access_token=[REDACTED]&x=1"},
		{"https://h/p?X-Amz-Signature=abc&X-Amz-Date=1", "https://h/p?X-Amz-Signature=[REDACTED]&X-Amz-Date=1"},
		{"https://h/p?keyword=abc&monkey=1&design=x", "https://h/p?keyword=abc&monkey=1&design=x"},
		{"proxy-authorization: Basic dXNlcjpwdw==", "proxy-authorization: [REDACTED]"},
		{"X-Auth-Token: abc\nnext", "X-Auth-Token: [REDACTED]\nnext"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after", "[REDACTED] after"},
		{`the skill "token-tools" is not served; these are: "api-key-notes"`, `the skill "token-tools" is not served; these are: "api-key-notes"`},
		{"https://user:pw@h/", "https://user:[REDACTED]@h/"},
		{"Cookie: a=b; c=d", "Cookie: [REDACTED]"},
	} {
		if got := redact(x.in); got != x.want {
			t.Errorf("%q: got %q, want %q", x.in, got, x.want)
		}
	}
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{"skill://a/b", "skill://a", "skill://a/", "skill://a/%20", "skill://a/%2f", "skill:///", "x", "skill://a/é/%C3%A9", "skill://a/b%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		skill, path, ok := parseURI(uri)
		if !ok || path == "" || strings.Contains(path, "%") {
			return
		}
		s2, p2, ok := parseURI(fileURI(skill, path))
		if !ok || s2 != skill || p2 != path {
			t.Fatalf("%q is %q and %q, written again %q", uri, skill, path, fileURI(skill, path))
		}
	})
}

func FuzzTextCost(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\n\x01\u2028é\x7f<>&\b\f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		inner, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textCost(s), wireLen(inner)-4; got != want {
			t.Fatalf("%q: counted %d, is %d", s, got, want)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{runB, `{}`, `null`, `[]`, `{"name":"a","script":"b","args":["\ud800"],"confirmToken":""}`, `{"name":"a","NAME":"b"}`, `{"name":"a","name":"b","script":"c"}`, `{"name"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var r mcp.CallToolRequest
		r.Params.RawArguments = json.RawMessage(raw)
		if !json.Valid(r.Params.RawArguments) { // the transport has refused it
			return
		}
		in, err := readRun(r)
		if err != nil {
			return
		}
		again, err := json.Marshal(map[string]any{"name": in.name, "script": in.script, "args": in.args, "confirmToken": in.token})
		if err != nil {
			t.Fatal(err)
		}
		r.Params.RawArguments = again
		if in2, err := readRun(r); err != nil || !reflect.DeepEqual(in, in2) {
			t.Fatalf("%q is %+v, written again %+v (%v)", raw, in, in2, err)
		}
	})
}
