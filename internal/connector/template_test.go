package connector

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// doc builds a template from a good base and changes to it; nil removes a key.
func doc(t *testing.T, changes map[string]any) []byte {
	t.Helper()
	base := map[string]any{
		"schema_version": 1, "kind": kind, "name": "docs", "display_name": "Docs",
		"transport": "stdio", "command": "npx", "args": []string{"-y", "@example/mcp"},
	}
	for k, v := range changes {
		if v == nil {
			delete(base, k)
		} else {
			base[k] = v
		}
	}
	text, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// remote is the base of a remote template.
func remote(changes map[string]any) map[string]any {
	all := map[string]any{"transport": "streamable_http", "command": nil, "args": nil, "url": "https://h.example/mcp"}
	for k, v := range changes {
		all[k] = v
	}
	return all
}

type object = map[string]any

func codes(r *Report, level Level) string {
	var out []string
	for _, d := range r.Diagnostics {
		if d.Level == level {
			out = append(out, strings.TrimPrefix(d.Code, prefix))
		}
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	names := Names{BuiltIn: []string{"pubmed"}, Existing: []string{"taken"}}
	long := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int) []string { return strings.Split(strings.Repeat("x,", n-1)+"x", ",") }
	for _, c := range []struct {
		name             string
		changes          map[string]any
		errors, warnings string
	}{
		{"d1: stdio", object{"required_secrets": object{"environment": []string{"API_TOKEN"}}}, "", ""},
		{"d2: streamable http", remote(object{"required_secrets": object{"headers": []string{"Authorization"}}}), "", ""},
		{"d3: sse", remote(object{"transport": "sse"}), "", ""},
		{"d4: oauth with scopes", remote(object{"oauth": object{"scopes": []string{"a", "a", "b"}}}), "", ""},
		{"d5: nothing but a command", object{"args": nil}, "", ""},
		{"d6: schema 2", object{"schema_version": 2}, "schema-version", ""},
		{"d6: schema as text", object{"schema_version": "1"}, "schema-version", ""},
		{"d6: another kind", object{"kind": "x"}, "kind", ""},
		{"d6: both missing", object{"kind": nil, "schema_version": nil}, "required required", ""},
		{"d7: camel case", object{"schemaVersion": 1, "displayName": "x", "requiredSecrets": object{}}, "unknown-field unknown-field unknown-field", ""},
		{"d7: camel case in oauth", remote(object{"oauth": object{"clientId": "x"}}), "unknown-field", ""},
		{"d8: capital", object{"name": "A"}, "invalid-name", ""},
		{"d8: underscore", object{"name": "a_b"}, "invalid-name", ""},
		{"d8: 64", object{"name": long(64)}, "", ""},
		{"d8: 65", object{"name": long(65)}, "too-long invalid-name", ""},
		{"d8: empty", object{"name": ""}, "empty", ""},
		{"d8: blanks around", object{"name": " a "}, "invalid-name", ""},
		{"d8: hyphen", object{"name": "-"}, "invalid-name", ""},
		{"d8: built-in", object{"name": "pubmed"}, "reserved-name", ""},
		{"d8: exists", object{"name": "taken"}, "duplicate-name", ""},
		{"d9: display name of another", object{"display_name": "taken"}, "", ""},
		{"d10: stdio with url", object{"url": "https://h.example"}, "stdio-remote-fields", ""},
		{"d10: stdio with oauth", object{"oauth": object{}}, "stdio-remote-fields", ""},
		{"d10: stdio with headers", object{"required_secrets": object{"headers": []string{"X"}}}, "stdio-headers", ""},
		{"d10: http with command", remote(object{"command": "x"}), "remote-command", ""},
		{"d10: http with args", remote(object{"args": []string{"x"}}), "remote-command", ""},
		{"d10: http with environment", remote(object{"required_secrets": object{"environment": []string{"X"}}}), "remote-environment", ""},
		{"d10: http without url", remote(object{"url": nil}), "url-required", ""},
		{"d10: stdio without command", object{"command": nil}, "command", ""},
		{"another transport", object{"transport": "ws"}, "transport", ""},
		{"d11: oauth and headers", remote(object{"oauth": object{}, "required_secrets": object{"headers": []string{"X"}}}), "oauth-headers", ""},
		{"d12: client without issuer", remote(object{"oauth": object{"client_id": "x"}}), "oauth-issuer", ""},
		{"d12: two modes", remote(object{"oauth": object{"client_id": "x", "client_metadata_url": "https://h.example/c"}}), "oauth-registration", ""},
		{"d12: redirect without client", remote(object{"oauth": object{"redirect_uri": "http://127.0.0.1:1/cb"}}), "oauth-redirect-uri-client", ""},
		{"d12: secret without client", remote(object{"oauth": object{}, "required_secrets": object{"oauth_client_secret": true}}), "oauth-client-secret", ""},
		{"a registered client", remote(object{"oauth": object{"client_id": "x", "authorization_server_url": "https://i.example", "redirect_uri": "http://127.0.0.1:1/cb"}, "required_secrets": object{"oauth_client_secret": true}}), "", ""},
		{"redirect elsewhere", remote(object{"oauth": object{"client_id": "x", "authorization_server_url": "https://i.example", "redirect_uri": "http://localhost/cb"}}), "oauth-redirect-uri", ""},
		{"d14: false", remote(object{"required_secrets": object{"oauth_client_secret": false}}), "type", ""},
		{"d14: text", remote(object{"required_secrets": object{"oauth_client_secret": "yes"}}), "type", ""},
		{"d16: words that only look secret", remote(object{"url": "https://h.example/?monkey=1&postcode=2"}), "", ""},
		{"a secret parameter", remote(object{"url": "https://h.example/?token=1"}), "url-secret", ""},
		{"user information", remote(object{"url": "https://u:p@h.example/"}), "url-credentials", ""},
		{"another scheme", remote(object{"url": "ftp://h.example/"}), "url-protocol", ""},
		{"d19: newline", object{"args": []string{"a\nb"}}, "argument-line-break", ""},
		{"d19: NUL", object{"args": []string{"a\x00b"}}, "type", ""},
		{"d19: 2,048 characters", object{"args": []string{long(2048)}}, "", ""},
		{"d19: 2,049 characters", object{"args": []string{long(2049)}}, "too-long", ""},
		{"d19: 128 items", object{"args": many(128)}, "", ""},
		{"d19: 129 items", object{"args": many(129)}, "too-many", ""},
		{"d21: paths of one machine", object{"command": "/Users/x/server", "args": []string{"~/x", `C:\x`, `\\srv\x`}}, "", "local-command local-argument local-argument local-argument"},
		{"d24: 33 scopes", remote(object{"oauth": object{"scopes": many(33)}}), "too-many", ""},
		{"d24: a long scope", remote(object{"oauth": object{"scopes": []string{long(129)}}}), "too-long", ""},
		{"d24: no list", remote(object{"oauth": object{"scopes": "a"}}), "type", ""},
		{"d25: variables", object{"required_secrets": object{"environment": []string{"1A", "A-B", "PATH", "LD_PRELOAD", "NODE_OPTIONS"}}}, "invalid-name invalid-name", "environment environment environment"},
		{"d26: headers", remote(object{"required_secrets": object{"headers": []string{"X Y", "X:Y", "Host", "Content-Length"}}}), "invalid-name invalid-name", "header header"},
		{"d40: a client id of the shape of a token", remote(object{"oauth": object{"client_id": "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0", "authorization_server_url": "https://i.example"}}), "argument-secret", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := Parse(doc(t, c.changes), names)
			if got := codes(r, Error); got != c.errors {
				t.Errorf("errors %q, want %q: %v", got, c.errors, r.Diagnostics)
			}
			if got := codes(r, Warning); got != c.warnings {
				t.Errorf("warnings %q, want %q: %v", got, c.warnings, r.Diagnostics)
			}
		})
	}
}

func TestSize(t *testing.T) {
	text := doc(t, nil)
	text = append(text, []byte(strings.Repeat(" ", MaxBytes-len(text)))...)
	if _, r := Parse(text, Names{}); !r.Ready() {
		t.Errorf("d22: %v", r.Diagnostics)
	}
	if _, r := Parse(append(text, ' '), Names{}); codes(r, Error) != "too-large" {
		t.Errorf("d22: %v", r.Diagnostics)
	}
	for _, bad := range []string{"", "[]", "{", `{"a":1,"a":2}`, "null", "{} x"} {
		if _, r := Parse([]byte(bad), Names{}); r.Ready() {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestArguments(t *testing.T) {
	token := "ghp_0123456789abcdef0123456789"
	for args, want := range map[string]string{
		"-u|server.py":                               "",
		"--header|X-Request-ID: 1":                   "",
		"--header|Idempotency-Key: 1":                "",
		"--tokenizer|x":                              "",
		"--author|me":                                "",
		"--token|--verbose":                          "",
		"--api-key|abc":                              "1",
		"--my-api-key=abc":                           "0",
		"--token:abc":                                "0",
		"--password|x":                               "1",
		"--client-secret=x":                          "0",
		"-u|me:pass":                                 "1",
		"-ume:pass":                                  "0",
		"--header|Authorization: Bearer x":           "1",
		"--header|Authorization:|Bearer|x":           "1",
		"-H|X-API-Key: x":                            "1",
		"--header=Cookie: x":                         "0",
		"https://u:p@h.example":                      "0",
		"--url=https://h.example/?token=x":           "0",
		token:                                        "0",
		"x|Bearer abcdefgh12345678":                  "1",
		"eyJhbGciOi.eyJzdWIiOi.c2lnbmF0":             "0",
		"--access-key|AKIAABCDEFGHIJKLMNOP|--region": "1",
	} {
		var got []string
		for _, i := range secretArguments(strings.Split(args, "|")) {
			got = append(got, fmt.Sprint(i))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %q", args, got, want)
		}
	}
	_, r := Parse(doc(t, object{"args": []string{"--token", token}}), Names{})
	for _, d := range r.Diagnostics {
		if strings.Contains(d.String(), token) {
			t.Errorf("the value is repeated: %s", d)
		}
	}
}

// d37: what a document says is never printed raw by a diagnostic.
func TestForeignKeysAreShownSafely(t *testing.T) {
	_, r := Parse(doc(t, object{"\x1b[31mred\u202e": 1}), Names{})
	if s := r.Diagnostics[0].String(); strings.ContainsAny(s, "\x1b\u202e") {
		t.Errorf("printed raw: %q", s)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"kind":"open-science.connector","name":"a","display_name":"A","transport":"stdio","command":"x","args":["--header","Authorization:","x"]}`))
	f.Add([]byte(`{"mcpServers":{"a b":{"command":"x","env":{"T":"v"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tpl, r := Parse(text, Names{}); r.Ready() {
			e, err := Export(tpl)
			if err != nil {
				t.Fatalf("accepted but not exported: %v", err)
			}
			again, r := Parse(e.Text, Names{})
			if !r.Ready() {
				t.Fatal(r.Diagnostics)
			}
			if twice, _ := Export(again); string(twice.Text) != string(e.Text) {
				t.Fatalf("not stable:\n%s\n%s", e.Text, twice.Text)
			}
		}
		ImportServers(text, Names{})
	})
}
