package deps

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/yamlcore"
)

// Transport is how a server is reached.
type Transport string

// The transports.
const (
	HTTP  Transport = "streamable_http"
	Stdio Transport = "stdio"
)

// Server is one declared MCP server, checked.
type Server struct {
	Name        string
	Transport   Transport
	Description string
	Described   bool      // an absent description differs from an empty one
	URL         string    // HTTP
	Protocol    string    // HTTP: "" = auto, else legacy or 2026-07-28
	BearerEnv   string    // HTTP: the variable that holds the token, "" = none
	Command     string    // Stdio
	Enabled     *[]string // nil = absent
	Disabled    *[]string // nil = absent
}

// maxText bounds names, descriptions, commands and tool names, in characters.
const maxText = 1024

// maxFilter bounds the tools of one filter.
const maxFilter = 256

// serverName is narrower than what mcporter takes: a dot breaks its calls, and
// every real name fits (measured on 0.12.3).
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// fields are the keys of an entry with the transport they belong to ("" = both).
var fields = map[string]Transport{
	"type": "", "value": "", "description": "", "transport": "", "enabled_tools": "", "disabled_tools": "",
	"url": HTTP, "protocol_version": HTTP, "bearer_token_env_var": HTTP, "command": Stdio,
}

// entry reads one item of dependencies.tools and collects what is wrong.
type entry struct {
	node     *yamlcore.Node
	path     string
	problems Problems
}

// bad records a problem of one field.
func (e *entry) bad(code, field, format string, args ...any) {
	path := e.path
	if field != "" {
		path += "." + field
	}
	e.problems = append(e.problems, Problem{Code: code, Path: path, Detail: fmt.Sprintf(format, args...)})
}

// read gives the server; it is meaningful only when problems stays empty.
func (e *entry) read() Server {
	var s Server
	if e.node.Kind != yamlcore.Map {
		e.bad(CodeShape, "", "is not a mapping but %s", e.node.Kind)
		return s
	}
	e.readType()
	s.Transport = e.readTransport()
	e.readKeys(s.Transport)
	s.Name = e.readName()
	s.Description, s.Described = e.readDescription()
	switch s.Transport {
	case HTTP:
		s.URL, s.Protocol, s.BearerEnv = e.readURL(), e.readProtocol(), e.readBearer()
	case Stdio:
		s.Command = e.readCommand()
	}
	s.Enabled, s.Disabled = e.readFilter("enabled_tools"), e.readFilter("disabled_tools")
	return s
}

// text gives a field that must be a string; ok is false when it is absent or
// wrong, and wrong ones are recorded with code.
func (e *entry) text(field, code string) (value string, ok bool) {
	n := e.node.Get(field)
	if n == nil {
		return "", false
	}
	value, ok = n.Str()
	if !ok {
		e.bad(code, field, "is %s and has to be text: quote it", n.Kind)
	}
	return value, ok
}

// required records a field that is not there.
func (e *entry) required(field string) {
	if e.node.Get(field) == nil {
		e.bad(CodeRequired, field, "is missing")
	}
}

func (e *entry) readType() {
	if e.node.Get("type") == nil {
		e.bad(CodeType, "type", "is missing and has to be mcp")
		return
	}
	if v, ok := e.text("type", CodeType); ok && v != "mcp" {
		e.bad(CodeType, "type", "has to be exactly mcp; other kinds of dependency are not supported")
	}
}

func (e *entry) readTransport() Transport {
	e.required("transport")
	v, ok := e.text("transport", CodeTransport)
	if ok && v != string(HTTP) && v != string(Stdio) {
		e.bad(CodeTransport, "transport", "has to be streamable_http or stdio")
	}
	return Transport(v)
}

// readKeys refuses unknown keys and those of the other transport.
func (e *entry) readKeys(t Transport) {
	for _, pair := range e.node.Entries {
		key, isText := pair.Key.Str()
		of, known := fields[key]
		switch {
		case !isText || !known:
			e.bad(CodeUnknownField, keyText(pair.Key), "is not a field of a dependency")
		case of != "" && (t == HTTP || t == Stdio) && of != t:
			e.bad(CodeOtherField, key, "belongs to the transport %s, and this one is %s", of, t)
		}
	}
}

// keyText shows a key in a path.
func keyText(n *yamlcore.Node) string {
	text := n.Text
	if len(text) > 64 {
		text = text[:64] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text), "?")
}

func (e *entry) readName() string {
	e.required("value")
	v, ok := e.text("value", CodeName)
	v = strings.TrimSpace(v)
	if ok && !serverName().MatchString(v) {
		e.bad(CodeName, "value", "is not a server name: letters, digits, _ and -, beginning with a letter or digit, at most 64")
	}
	return v
}

func (e *entry) readDescription() (string, bool) {
	v, ok := e.text("description", CodeDescription)
	if !ok {
		return "", false
	}
	v = strings.TrimSpace(v)
	if n := utf8.RuneCountInString(v); n < 1 || n > maxText {
		e.bad(CodeDescription, "description", "has %d characters and has to have 1 to %d", n, maxText)
	}
	e.placeholder("description", v)
	return v, true
}

// placeholder refuses what mcporter would expand: it has no escape, so the
// value would be sent, printed or run (measured on 0.12.3).
func (e *entry) placeholder(field, v string) {
	if strings.Contains(v, "${") || strings.HasPrefix(v, "$env:") {
		hint := "write the variable's name in bearer_token_env_var"
		if field == "command" {
			hint = "write $NAME, which the shell expands when the server starts"
		}
		e.bad(CodePlaceholder, field, "holds a placeholder that mcporter would replace by the value: %s", hint)
	}
}

func (e *entry) readURL() string {
	e.required("url")
	v, ok := e.text("url", CodeURL)
	if !ok {
		return v
	}
	e.placeholder("url", v)
	if n := utf8.RuneCountInString(v); n > maxText {
		e.bad(CodeURL, "url", "has %d characters, at most %d", n, maxText)
	}
	u, err := url.Parse(v)
	odd := strings.ContainsFunc(v, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if err != nil || odd || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		e.bad(CodeURL, "url", "is not an absolute http or https address without blanks")
		return v
	}
	switch secretscan.URL(u) {
	case secretscan.Credentials:
		e.bad(CodeURLCreds, "url", "holds user information; use bearer_token_env_var")
	case secretscan.Secret:
		e.bad(CodeURLSecret, "url", "holds a parameter or a value that is a credential; use bearer_token_env_var")
	}
	return v
}

// readProtocol gives "" for auto, which equals an absent field.
func (e *entry) readProtocol() string {
	v, ok := e.text("protocol_version", CodeProtocol)
	switch {
	case !ok || v == "auto":
		return ""
	case v == "legacy" || v == "2026-07-28":
		return v
	}
	e.bad(CodeProtocol, "protocol_version", "has to be auto, legacy or 2026-07-28")
	return ""
}

// readBearer never repeats what it read: a token written there by mistake must
// not reach a log.
func (e *entry) readBearer() string {
	v, ok := e.text("bearer_token_env_var", CodeEnvName)
	if ok && (!grant.Identifier(v) || secretscan.Value(v)) {
		e.bad(CodeEnvName, "bearer_token_env_var", "is not the name of a variable; the token itself never belongs here")
	}
	return v
}

func (e *entry) readCommand() string {
	e.required("command")
	v, ok := e.text("command", CodeCommand)
	if !ok {
		return v
	}
	v = strings.TrimSpace(v)
	if n := utf8.RuneCountInString(v); n < 1 || n > maxText || strings.ContainsRune(v, 0) {
		e.bad(CodeCommand, "command", "has %d characters and has to have 1 to %d, none of them NUL", n, maxText)
	}
	e.placeholder("command", v)
	return v
}

// readFilter reads a list of exact, untrimmed tool names; nil = absent.
func (e *entry) readFilter(field string) *[]string {
	n := e.node.Get(field)
	if n == nil {
		return nil
	}
	if n.Kind != yamlcore.Seq {
		e.bad(CodeFilter, field, "is %s and has to be a list of tool names", n.Kind)
		return nil
	}
	if len(n.Items) > maxFilter {
		e.bad(CodeFilter, field, "has %d names, at most %d", len(n.Items), maxFilter)
		return nil
	}
	out := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		v, ok := item.Str()
		if c := utf8.RuneCountInString(v); !ok || c < 1 || c > maxText {
			e.bad(CodeFilter, fmt.Sprintf("%s[%d]", field, i), "is not a tool name of 1 to %d characters", maxText)
			continue
		}
		e.placeholder(fmt.Sprintf("%s[%d]", field, i), v)
		out = append(out, v)
	}
	return &out
}
