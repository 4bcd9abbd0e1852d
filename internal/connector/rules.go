package connector

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/strictjson"
)

// checkTransport applies the rules of 6.2: which fields a transport has.
func checkTransport(r *Report, root *strictjson.Value, t Template) {
	switch t.Transport {
	case Stdio:
		if t.Command == "" && root.Get("command") == nil {
			r.fail("command", "command", "is missing: the transport stdio starts a command")
		}
		if root.Get("url") != nil {
			r.fail("stdio-remote-fields", "url", "belongs to a remote transport")
		}
		if root.Get("oauth") != nil {
			r.fail("stdio-remote-fields", "oauth", "belongs to a remote transport")
		}
		if len(t.Headers) > 0 {
			r.fail("stdio-headers", "required_secrets.headers", "belong to a remote transport")
		}
	case HTTP, SSE:
		checkRemote(r, root, t)
	default:
		if root.Get("transport") != nil {
			r.fail("transport", "transport", "has to be stdio, streamable_http or sse")
		}
	}
	checkOAuth(r, t)
}

// checkRemote applies the rules of the two remote transports.
func checkRemote(r *Report, root *strictjson.Value, t Template) {
	if root.Get("url") == nil {
		r.fail("url-required", "url", "is missing: the transport %s has an address", t.Transport)
	}
	if root.Get("command") != nil {
		r.fail("remote-command", "command", "belongs to the transport stdio")
	}
	if root.Get("args") != nil {
		r.fail("remote-command", "args", "belong to the transport stdio")
	}
	if len(t.Environment) > 0 {
		r.fail("remote-environment", "required_secrets.environment", "belongs to the transport stdio")
	}
	if t.OAuth != nil && len(t.Headers) > 0 {
		r.fail("oauth-headers", "required_secrets.headers", "cannot stand beside oauth: one of them signs in")
	}
}

// checkOAuth keeps the three modes apart: dynamic registration, a client
// metadata document, a registered client.
func checkOAuth(r *Report, t Template) {
	o := t.OAuth
	if o == nil {
		if t.OAuthSecret {
			r.fail("oauth-client-secret", "required_secrets.oauth_client_secret", "needs oauth.client_id")
		}
		return
	}
	if o.ClientID != "" && o.ClientMetadataURL != "" {
		r.fail("oauth-registration", "oauth.client_id", "cannot stand beside client_metadata_url: they are separate modes")
	} else if o.ClientID != "" && o.AuthorizationServerURL == "" {
		r.fail("oauth-issuer", "oauth.client_id", "needs authorization_server_url")
	}
	if o.ClientID == "" && t.OAuthSecret {
		r.fail("oauth-client-secret", "required_secrets.oauth_client_secret", "needs oauth.client_id")
	}
	if o.RedirectURI == "" {
		return
	}
	if o.ClientID == "" {
		r.fail("oauth-redirect-uri-client", "oauth.redirect_uri", "needs oauth.client_id")
	}
	u, err := url.Parse(o.RedirectURI)
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.User != nil || strings.Contains(o.RedirectURI, "#") || !strings.HasPrefix(u.Path, "/") {
		r.fail("oauth-redirect-uri", "oauth.redirect_uri", "has to be http://127.0.0.1[:port]/… without user information or fragment")
	}
}

// checkNames checks the connector's own name and the names of its secrets.
func checkNames(r *Report, t Template, names Names) {
	if t.Name != "" {
		switch {
		case !nameRule().MatchString(t.Name) || len(t.Name) > maxName:
			r.fail("invalid-name", "name", "has to be lower-case letters, digits and hyphens, with a letter or digit at both ends")
		case slices.Contains(names.BuiltIn, t.Name):
			r.fail("reserved-name", "name", "is the name of a built-in connector")
		case slices.Contains(names.Existing, t.Name):
			r.fail("duplicate-name", "name", "is the name of a connector that exists already")
		}
	}
	for i, n := range t.Environment {
		path := fmt.Sprintf("required_secrets.environment[%d]", i)
		if !envRule().MatchString(n) {
			r.fail("invalid-name", path, "is not the name of a variable")
		} else if changesStart(n) {
			r.warn("environment", path, "%s changes how programs start", n)
		}
	}
	for i, n := range t.Headers {
		path := fmt.Sprintf("required_secrets.headers[%d]", i)
		if !headerRule().MatchString(n) {
			r.fail("invalid-name", path, "is not the name of a header")
		} else if l := strings.ToLower(n); l == "host" || l == "content-length" || l == "transfer-encoding" || l == "connection" {
			r.warn("header", path, "%s changes how the request itself is read", n)
		}
	}
}

// changesStart reports variables that a loader, a shell or a runtime acts on.
func changesStart(name string) bool {
	return name == "PATH" || name == "NODE_OPTIONS" || name == "BASH_ENV" || name == "PYTHONSTARTUP" ||
		strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_")
}

// checkSecrets looks for credentials in every field that is not a name (6.3).
func checkSecrets(r *Report, t Template) {
	checkURL(r, "url", t.URL)
	if o := t.OAuth; o != nil {
		checkURL(r, "oauth.client_metadata_url", o.ClientMetadataURL)
		checkURL(r, "oauth.authorization_server_url", o.AuthorizationServerURL)
		if o.RedirectURI != "" {
			checkURL(r, "oauth.redirect_uri", o.RedirectURI)
		}
		if secretscan.Value(o.ClientID) {
			r.fail("argument-secret", "oauth.client_id", "has the shape of a credential")
		}
	}
	for _, f := range []struct{ path, text string }{
		{"command", t.Command}, {"display_name", t.DisplayName}, {"description", deref(t.Description)},
	} {
		if secretscan.Value(f.text) {
			r.fail("argument-secret", f.path, "holds a value of the shape of a credential")
		}
	}
	checkSecretNames(r, t)
	if localPath(t.Command) {
		r.warn("local-command", "command", "looks like a path of one machine")
	}
	for i, a := range t.Args {
		path := fmt.Sprintf("args[%d]", i)
		if strings.ContainsAny(a, "\r\n") {
			r.fail("argument-line-break", path, "holds a line break")
		}
		if localPath(a) {
			r.warn("local-argument", path, "looks like a path of one machine")
		}
	}
	for _, i := range secretArguments(t.Args) {
		r.fail("argument-secret", fmt.Sprintf("args[%d]", i), "carries a credential; name it in required_secrets.environment instead")
	}
	for i, a := range append([]string{t.Command, t.URL}, t.Args...) {
		if strings.Contains(a, "${") {
			r.warn("placeholder", place(i), "holds ${…}, which some clients replace by the value of a variable")
		}
	}
}

// checkSecretNames looks for credentials that stand where a name belongs.
func checkSecretNames(r *Report, t Template) {
	check := func(path, text string) {
		if secretscan.Value(text) {
			r.fail("argument-secret", path, "has the shape of a credential and is no name")
		}
	}
	check("name", t.Name)
	check("transport", string(t.Transport))
	for i, n := range t.Environment {
		check(fmt.Sprintf("required_secrets.environment[%d]", i), n)
	}
	for i, n := range t.Headers {
		check(fmt.Sprintf("required_secrets.headers[%d]", i), n)
	}
	if t.OAuth != nil {
		for i, n := range t.OAuth.Scopes {
			check(fmt.Sprintf("oauth.scopes[%d]", i), n)
		}
	}
}

// place names the field of checkSecrets' last loop.
func place(i int) string {
	switch i {
	case 0:
		return "command"
	case 1:
		return "url"
	}
	return fmt.Sprintf("args[%d]", i-2)
}

// checkURL checks one address.
func checkURL(r *Report, path, text string) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		r.fail("url", path, "is not an absolute address")
		return
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		r.fail("url-protocol", path, "has to begin with http:// or https://")
		return
	}
	switch secretscan.URL(u) {
	case secretscan.Credentials:
		r.fail("url-credentials", path, "holds user information")
	case secretscan.Secret:
		r.fail("url-secret", path, "holds a parameter or a value that is a credential")
	}
}

var drivePath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:[\\/]`) })

// localPath reports text that looks like a path of one machine.
func localPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, `\\`) || drivePath().MatchString(s)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
