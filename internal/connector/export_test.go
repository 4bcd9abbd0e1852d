package connector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/store"
)

func parsed(t *testing.T, changes map[string]any) Template {
	t.Helper()
	tpl, r := Parse(doc(t, changes), Names{})
	if !r.Ready() {
		t.Fatal(r.Diagnostics)
	}
	return tpl
}

func TestExportClient(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes map[string]any
		want    string
		mapping string
		warning string
	}{
		{"d1: stdio", object{"required_secrets": object{"environment": []string{"API_TOKEN"}}},
			`{"mcpServers":{"docs":{"command":"npx","args":["-y","@example/mcp"],"env":{"API_TOKEN":"${API_TOKEN}"}}}}`, "", "mcp-placeholders"},
		{"d2: http", remote(object{"required_secrets": object{"headers": []string{"Authorization"}}}),
			`{"mcpServers":{"docs":{"type":"http","url":"https://h.example/mcp","headers":{"Authorization":"${Authorization}"}}}}`, "", "mcp-placeholders"},
		{"d3: sse", remote(object{"transport": "sse"}), `{"mcpServers":{"docs":{"type":"sse","url":"https://h.example/mcp"}}}`, "", ""},
		{"d4: oauth is left out", remote(object{"oauth": object{"scopes": []string{"a"}}}), `{"mcpServers":{"docs":{"type":"http","url":"https://h.example/mcp"}}}`, "", "mcp-oauth-excluded"},
		{"d5: nothing set", object{"args": nil}, `{"mcpServers":{"docs":{"command":"npx"}}}`, "", ""},
		{"an empty list is kept", object{"args": []string{}}, `{"mcpServers":{"docs":{"command":"npx","args":[]}}}`, "", ""},
		{"d33: a header that is no variable name", remote(object{"required_secrets": object{"headers": []string{"X-API-Key"}}}),
			`{"mcpServers":{"docs":{"type":"http","url":"https://h.example/mcp","headers":{"X-API-Key":"${X_API_Key}"}}}}`, "X-API-Key=X_API_Key", "mcp-placeholders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ExportClient(parsed(t, c.changes))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(string(e.Text))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			var m string
			for h, v := range e.Mapping {
				m += h + "=" + v
			}
			if m != c.mapping || e.File != "mcp-docs.json" {
				t.Errorf("mapping %q, file %q", m, e.File)
			}
			if got := codes(&Report{e.Diagnostics}, Warning); got != c.warning {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
	if _, err := ExportClient(parsed(t, object{"args": []string{"${HOME}"}})); err == nil {
		t.Error("a placeholder of its own leaves the store")
	}
}

func TestRoundTrip(t *testing.T) {
	for name, changes := range map[string]map[string]any{
		"stdio": {"description": "a < b & ü", "required_secrets": object{"environment": []string{"T"}}},
		"http":  remote(object{"oauth": object{"client_id": "x", "authorization_server_url": "https://i.example", "scopes": []string{}}}),
	} {
		first, err := Export(parsed(t, changes))
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		shelf := Shelf{Store: s}
		names, err := shelf.Names()
		if err != nil {
			t.Fatal(err)
		}
		tpl, r := Parse(first.Text, names)
		if !r.Ready() {
			t.Fatal(r.Diagnostics)
		}
		if err := shelf.Add(context.Background(), tpl); err != nil {
			t.Fatal(err)
		}
		back, _, err := shelf.Get("docs")
		if err != nil {
			t.Fatal(err)
		}
		second, err := Export(back)
		if err != nil || !bytes.Equal(first.Text, second.Text) {
			t.Errorf("d31 %s: %v\n%s\n%s", name, err, first.Text, second.Text)
		}
		var dup *NotReadyError
		if err := shelf.Add(context.Background(), tpl); !errors.As(err, &dup) {
			t.Errorf("the same name twice: %v", err)
		}
	}
}

// d39: values are dropped where they are read, and reach neither disk nor text.
func TestImportServers(t *testing.T) {
	const secret = "very-secret-value-1234"
	text := `{"mcpServers": {"My Server": {"command": "npx", "args": ["-y", "x"], "env": {"API_KEY": "` + secret + `"}, "disabled": true},
		"remote": {"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ` + secret + `"}},
		"both": {"command": "x", "url": "https://h.example"}}}`
	templates, reports, whole := ImportServers([]byte(text), Names{Existing: []string{"remote"}})
	if !whole.Ready() || len(templates) != 3 {
		t.Fatal(whole.Diagnostics)
	}
	if templates[0].Name != "my-server" || strings.Join(templates[0].Environment, "") != "API_KEY" || !reports[0].Ready() {
		t.Errorf("got %+v, %v", templates[0], reports[0].Diagnostics)
	}
	if got := codes(reports[0], Warning); got != "name field-dropped values-dropped" {
		t.Errorf("warnings %q", got)
	}
	if got := codes(reports[1], Error); got != "duplicate-name" {
		t.Errorf("errors %q", got)
	}
	if got := codes(reports[2], Error); got != "transport" {
		t.Errorf("errors %q", got)
	}
	dir := filepath.Join(t.TempDir(), "store")
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := (Shelf{Store: s}).Add(context.Background(), templates[0]); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(templates, reports)
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			all += string(b)
		}
		return err
	})
	if strings.Contains(all, secret) {
		t.Error("a value was kept")
	}
	for name, bad := range map[string]string{
		"registry document": `{"$schema": "x", "packages": []}`, "no servers": `{"mcpServers": {}}`, "a list": `{"mcpServers": []}`, "not JSON": `x`,
	} {
		if _, _, w := ImportServers([]byte(bad), Names{}); w.Ready() {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestPreviews(t *testing.T) {
	e, err := Export(parsed(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var p Previews
	d := p.Show("docs", e)
	if len(d) != 64 || p.Check("docs", d, e) != nil {
		t.Error("a fresh preview is not accepted")
	}
	changed := e
	changed.Text = append([]byte{}, e.Text...)
	changed.Text[5] ^= 1
	for name, err := range map[string]error{
		"d28: an old digest":              p.Check("docs", d, changed),
		"d28: after a restart":            (&Previews{}).Check("docs", d, e),
		"d28: for another connector":      p.Check("other", d, e),
		"a digest that was never shown":   p.Check("docs", strings.Repeat("0", 64), e),
		"the digest of an unshown change": p.Check("docs", changed.Digest(), changed),
	} {
		if !errors.Is(err, ErrPreviewAgain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range maxPreviews {
		o := e
		o.File = fmt.Sprint(i)
		p.Show("docs", o)
	}
	if !errors.Is(p.Check("docs", d, e), ErrPreviewAgain) {
		t.Error("d29: 65 previews later the first is still accepted")
	}
}

func TestShelfIsBounded(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shelf := Shelf{Store: s}
	var all []Template
	for i := range MaxConnectors {
		all = append(all, parsed(t, object{"name": fmt.Sprintf("c%d", i)}))
	}
	if err := shelf.Add(context.Background(), all...); err != nil {
		t.Fatal(err)
	}
	if err := shelf.Add(context.Background(), parsed(t, object{"name": "more"})); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if _, _, err := shelf.Get("../c1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
}
