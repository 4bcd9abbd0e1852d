package connector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// document is a template as it is written: the keys in their order, what is
// absent left out, no local id and no value.
type document struct {
	SchemaVersion int             `json:"schema_version"`
	Kind          string          `json:"kind"`
	Name          string          `json:"name"`
	DisplayName   string          `json:"display_name"`
	Transport     Transport       `json:"transport"`
	Description   *string         `json:"description,omitempty"`
	Command       string          `json:"command,omitempty"`
	Args          *[]string       `json:"args,omitempty"`
	URL           string          `json:"url,omitempty"`
	Secrets       *requiredSecret `json:"required_secrets,omitempty"`
	OAuth         *oauthDocument  `json:"oauth,omitempty"`
}

type requiredSecret struct {
	Environment *[]string `json:"environment,omitempty"`
	Headers     *[]string `json:"headers,omitempty"`
	OAuthSecret bool      `json:"oauth_client_secret,omitempty"`
}

type oauthDocument struct {
	ClientMetadataURL      string    `json:"client_metadata_url,omitempty"`
	AuthorizationServerURL string    `json:"authorization_server_url,omitempty"`
	Scopes                 *[]string `json:"scopes,omitempty"`
	ClientID               string    `json:"client_id,omitempty"`
	RedirectURI            string    `json:"redirect_uri,omitempty"`
}

// Exported is a document that may leave the store.
type Exported struct {
	File        string            `json:"file"` // suggested name
	Text        []byte            `json:"-"`
	Mapping     map[string]string `json:"mapping,omitempty"` // header name to variable name, where they differ
	Diagnostics []Diagnostic      `json:"diagnostics"`
}

// Export writes a template. The text is parsed again before it leaves; any
// error means that nothing is exported.
func Export(t Template) (Exported, error) {
	text, err := encode(documentOf(t))
	if err != nil {
		return Exported{}, err
	}
	_, report := Parse(text, Names{})
	if !report.Ready() {
		return Exported{}, &NotReadyError{report.Diagnostics}
	}
	return Exported{File: "open-science-connector-" + t.Name + ".json", Text: text, Diagnostics: report.Diagnostics}, nil
}

// NotReadyError says why a document is not exported or imported.
type NotReadyError struct{ Diagnostics []Diagnostic }

// Error gives one line per error.
func (e *NotReadyError) Error() string {
	var lines []string
	for _, d := range e.Diagnostics {
		if d.Level == Error {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// documentOf lays a template out.
func documentOf(t Template) document {
	d := document{
		SchemaVersion: 1, Kind: kind, Name: t.Name, DisplayName: t.DisplayName, Transport: t.Transport,
		Description: t.Description, Command: t.Command, Args: present(t.Args), URL: t.URL,
	}
	if t.Environment != nil || t.Headers != nil || t.OAuthSecret {
		d.Secrets = &requiredSecret{present(t.Environment), present(t.Headers), t.OAuthSecret}
	}
	if o := t.OAuth; o != nil {
		d.OAuth = &oauthDocument{o.ClientMetadataURL, o.AuthorizationServerURL, present(o.Scopes), o.ClientID, o.RedirectURI}
	}
	return d
}

// present keeps an empty list apart from an absent one.
func present(list []string) *[]string {
	if list == nil {
		return nil
	}
	return &list
}

// encode writes two-space JSON with a newline and no HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return b.Bytes(), nil
}

// clientServer is one server of an mcpServers document.
type clientServer struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    *[]string         `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// ExportClient writes an mcpServers document. Secrets become placeholders of
// the form ${NAME}; a header whose name is no variable name gets one that is,
// and the mapping says which.
func ExportClient(t Template) (Exported, error) {
	if _, err := Export(t); err != nil { // the same template must be fit to leave
		return Exported{}, err
	}
	s, r, mapping := clientServer{Command: t.Command, Args: present(t.Args), URL: t.URL}, &Report{}, map[string]string{}
	for i, text := range append([]string{t.Command, t.URL}, t.Args...) {
		if strings.Contains(text, "${") {
			r.fail("placeholder", place(i), "holds ${…}, which the client would replace")
		}
	}
	switch t.Transport {
	case HTTP:
		s.Type = "http"
	case SSE:
		s.Type = "sse"
	}
	for _, n := range t.Environment {
		s.Env = put(s.Env, n, "${"+n+"}")
	}
	for _, n := range t.Headers {
		v := Variable(n)
		if v != n {
			mapping[n] = v
		}
		s.Headers = put(s.Headers, n, "${"+v+"}")
	}
	if t.OAuth != nil {
		r.warn("mcp-oauth-excluded", "oauth", "is left out: clients sign in on their own")
	}
	if len(s.Env)+len(s.Headers) > 0 {
		r.warn("mcp-placeholders", "", "clients differ in replacing ${…}: some leave an unset one as text, some send it as it stands")
	}
	if !r.Ready() {
		return Exported{}, &NotReadyError{r.Diagnostics}
	}
	text, err := encode(map[string]any{"mcpServers": map[string]clientServer{t.Name: s}})
	return Exported{File: "mcp-" + t.Name + ".json", Text: text, Mapping: mapping, Diagnostics: r.Diagnostics}, err
}

func put(m map[string]string, k, v string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[k] = v
	return m
}

var notVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_]`) })

// Variable is the legal variable name for a header: a hyphen becomes an
// underscore, and a leading digit gets one before it.
func Variable(header string) string {
	v := notVariable().ReplaceAllString(header, "_")
	if v != "" && v[0] >= '0' && v[0] <= '9' {
		v = "_" + v
	}
	return v
}

// MappingLines gives a mapping as lines for a person.
func MappingLines(m map[string]string) []string {
	var out []string
	for h, v := range m {
		out = append(out, h+" is read from the variable "+v)
	}
	sort.Strings(out)
	return out
}
