package connector

import (
	"regexp"
	"sync"

	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/strictjson"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "streamable_http"
	SSE   Transport = "sse"
)

// The constants of a template.
const (
	schemaVersion = "1"
	kind          = "open-science.connector"
)

// The bounds of a template (specification of packages, 6.1).
const (
	MaxBytes       = 262_144
	maxName        = 64
	maxDisplayName = 128
	maxDescription = 2000
	maxCommand     = 1024
	maxArgs        = 128
	maxArg         = 2048
	maxURL         = 2048
	maxScopes      = 32
	maxScope       = 128
	maxSecrets     = 64
	maxSecretName  = 128
	// MaxConnectors bounds the connectors of one store.
	MaxConnectors = 64
)

// Template is one connector. Fields that the document leaves out are nil or
// empty; Args keeps order, blanks and repeats.
type Template struct {
	Name        string
	DisplayName string
	Description *string
	Transport   Transport
	Command     string
	Args        []string // nil = absent
	URL         string
	Environment []string // names of variables whose values are secrets
	Headers     []string // names of headers whose values are secrets
	OAuthSecret bool     // an OAuth client secret is needed
	OAuth       *OAuth
}

// OAuth is how a remote server signs its users in.
type OAuth struct {
	ClientMetadataURL      string
	AuthorizationServerURL string
	Scopes                 []string // nil = absent
	ClientID               string
	RedirectURI            string
}

var (
	nameRule   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`) })
	envRule    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	headerRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`) })
)

// Names are what a template's name is compared with.
type Names struct {
	BuiltIn  []string // ids that nobody may take
	Existing []string // connectors of the store
}

// Parse reads a template. The report has everything that is wrong; the
// template is good when it is ready.
func Parse(text []byte, names Names) (Template, *Report) {
	r := &Report{}
	if len(text) > MaxBytes {
		r.over("too-large", "", MaxBytes, "has %d bytes, at most %d", len(text), MaxBytes)
		return Template{}, r
	}
	root, err := strictjson.Parse(text)
	if err != nil {
		r.fail("invalid-json", "", "%v", err)
		return Template{}, r
	}
	if root.Kind != strictjson.Object {
		r.fail("root", "", "is %s and has to be an object", root.Kind)
		return Template{}, r
	}
	rd := reader{r}
	t := rd.template(root)
	checkTransport(r, root, t)
	checkNames(r, t, names)
	checkSecrets(r, t)
	t.Name = namePrintable(t.Name)
	return t, r
}

// namePrintable drops a name that is a credential: whoever prints a template
// begins with its name.
func namePrintable(name string) string {
	if secretscan.Value(name) {
		return ""
	}
	return name
}

// reader takes fields out of a document and records what is wrong with them.
type reader struct{ *Report }

// template reads the fields in the order of the format.
func (r reader) template(root *strictjson.Value) Template {
	r.known(root, "", "schema_version", "kind", "name", "display_name", "description", "transport", "command", "args",
		"url", "required_secrets", "oauth")
	var t Template
	if v := r.need(root, "", "schema_version"); v != nil && (v.Kind != strictjson.Number || v.Text != schemaVersion) {
		r.fail("schema-version", "schema_version", "has to be the number 1")
	}
	if v := r.need(root, "", "kind"); v != nil && (v.Kind != strictjson.String || v.Text != kind) {
		r.fail("kind", "kind", "has to be %q", kind)
	}
	t.Name = r.text(r.need(root, "", "name"), "name", maxName)
	t.DisplayName = r.text(r.need(root, "", "display_name"), "display_name", maxDisplayName)
	if v := root.Get("description"); v != nil {
		d := r.textOrEmpty(v, "description", maxDescription)
		t.Description = &d
	}
	t.Transport = Transport(r.text(r.need(root, "", "transport"), "transport", maxName))
	t.Command = r.text(root.Get("command"), "command", maxCommand)
	t.Args = r.list(root.Get("args"), "args", maxArgs, maxArg, true)
	t.URL = r.text(root.Get("url"), "url", maxURL)
	r.secrets(root.Get("required_secrets"), &t)
	t.OAuth = r.oauth(root.Get("oauth"))
	return t
}

// secrets reads required_secrets.
func (r reader) secrets(v *strictjson.Value, t *Template) {
	if v == nil || !r.object(v, "required_secrets") {
		return
	}
	r.known(v, "required_secrets.", "environment", "headers", "oauth_client_secret")
	t.Environment = r.list(v.Get("environment"), "required_secrets.environment", maxSecrets, maxSecretName, false)
	t.Headers = r.list(v.Get("headers"), "required_secrets.headers", maxSecrets, maxSecretName, false)
	if s := v.Get("oauth_client_secret"); s != nil {
		t.OAuthSecret = s.Kind == strictjson.Bool && s.Bool
		if !t.OAuthSecret {
			r.fail("type", "required_secrets.oauth_client_secret", "can only be true, or be left out")
		}
	}
}

// oauth reads the oauth object.
func (r reader) oauth(v *strictjson.Value) *OAuth {
	if v == nil || !r.object(v, "oauth") {
		return nil
	}
	r.known(v, "oauth.", "client_metadata_url", "authorization_server_url", "scopes", "client_id", "redirect_uri")
	return &OAuth{
		ClientMetadataURL:      r.text(v.Get("client_metadata_url"), "oauth.client_metadata_url", maxURL),
		AuthorizationServerURL: r.text(v.Get("authorization_server_url"), "oauth.authorization_server_url", maxURL),
		Scopes:                 unique(r.list(v.Get("scopes"), "oauth.scopes", maxScopes, maxScope, false)),
		ClientID:               r.text(v.Get("client_id"), "oauth.client_id", maxURL),
		RedirectURI:            r.text(v.Get("redirect_uri"), "oauth.redirect_uri", maxURL),
	}
}

// unique merges repeats and keeps the order.
func unique(list []string) []string {
	if list == nil {
		return nil
	}
	seen, out := map[string]bool{}, []string{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
