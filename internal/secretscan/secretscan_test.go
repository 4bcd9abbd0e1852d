package secretscan

import (
	"net/url"
	"testing"
)

func TestURL(t *testing.T) {
	for raw, want := range map[string]Fault{
		"https://h.example/mcp":                                  None,
		"https://h.example/mcp?monkey=1&postcode=2":              None,
		"https://u:p@h.example/mcp":                              Credentials,
		"https://u@h.example/mcp":                                Credentials,
		"https://h.example/mcp?api_key=x":                        Secret,
		"https://h.example/mcp?a=1;X-API-Key=x":                  Secret,
		"https://h.example/mcp?%61pikey=x":                       Secret,
		"https://h.example/mcp#token=x":                          Secret,
		"https://h.example/eyJhbGciOi.eyJzdWIiOi.c2ln":           Secret,
		"https://h.example/%65yJhbGciOi.eyJzdWIiOi.c2ln":         Secret,
		"https://h.example/mcp?v=ghp_0123456789abcdef0123456789": Secret,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := URL(u); got != want {
			t.Errorf("URL(%q) = %v, want %v", raw, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "plain words": false, "sk-ipped": false, "Bearer of news": false,
		"Bearer abcdefgh12345678": true, "-----BEGIN RSA PRIVATE KEY-----": true, "AKIAABCDEFGHIJKLMNOP": true,
	} {
		if got := Value(text); got != want {
			t.Errorf("Value(%q) = %v, want %v", text, got, want)
		}
	}
}
