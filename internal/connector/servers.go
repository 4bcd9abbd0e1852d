package connector

import (
	"strings"
	"unicode"

	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/strictjson"
)

// ImportServers reads an mcpServers document and gives one template per server
// with the report of each. Values of variables and headers are dropped where
// they are read: their names are kept as required secrets.
func ImportServers(text []byte, names Names) ([]Template, []*Report, *Report) {
	whole := &Report{}
	if len(text) > MaxBytes {
		whole.over("too-large", "", MaxBytes, "has %d bytes, at most %d", len(text), MaxBytes)
		return nil, nil, whole
	}
	root, err := strictjson.Parse(text)
	if err != nil {
		whole.fail("invalid-json", "", "%v", err)
		return nil, nil, whole
	}
	servers := root.Get("mcpServers")
	if servers == nil || servers.Kind != strictjson.Object {
		what := "has no object mcpServers"
		if root.Get("$schema") != nil || root.Get("packages") != nil || root.Get("remotes") != nil {
			what = "is a registry's server.json, which says how to install and not how a client reaches a server"
		}
		whole.fail("root", "", "%s", what)
		return nil, nil, whole
	}
	var templates []Template
	var reports []*Report
	taken := Names{BuiltIn: names.BuiltIn, Existing: append([]string{}, names.Existing...)}
	for _, m := range servers.Members {
		t, r := importServer(m, taken)
		taken.Existing = append(taken.Existing, t.Name)
		templates, reports = append(templates, t), append(reports, r)
	}
	if len(templates) == 0 {
		whole.fail("empty", "mcpServers", "names no server")
	}
	return templates, reports, whole
}

// importServer turns one entry into a template.
func importServer(m strictjson.Member, names Names) (Template, *Report) {
	r := &Report{}
	rd := reader{r}
	at := "mcpServers." + show(m.Key)
	t := Template{Name: normalName(m.Key), DisplayName: cutRunes(strings.TrimSpace(m.Key), maxDisplayName)}
	if secretscan.Value(m.Key) {
		r.fail("argument-secret", "mcpServers", "a server's name has the shape of a credential")
		return Template{Name: "server"}, r
	}
	if t.Name != m.Key {
		r.warn("name", at, "is called %q here: names are lower-case letters, digits and hyphens", t.Name)
	}
	v := m.Value
	if !rd.object(&v, at) {
		return t, r
	}
	for _, f := range v.Members {
		switch f.Key {
		case "type", "transport", "command", "args", "url", "env", "headers":
		default:
			r.warn("field-dropped", at+"."+show(f.Key), "is not kept")
		}
	}
	command, url := v.Get("command"), v.Get("url")
	if command != nil && url != nil {
		r.fail("transport", at, "has both a command and a url; only one of them can be meant")
		return t, r
	}
	t.Transport = serverTransport(v, url != nil)
	t.Command = rd.text(command, at+".command", maxCommand)
	t.Args = rd.list(v.Get("args"), at+".args", maxArgs, maxArg, true)
	t.URL = rd.text(url, at+".url", maxURL)
	t.Environment = rd.droppedValues(v.Get("env"), at+".env")
	t.Headers = rd.droppedValues(v.Get("headers"), at+".headers")
	text, err := encode(documentOf(t))
	if err != nil {
		r.fail("invalid-json", at, "%v", err)
		return t, r
	}
	again, checked := Parse(text, names)
	r.Diagnostics = append(r.Diagnostics, checked.Diagnostics...)
	return again, r
}

// serverTransport reads the two spellings clients use.
func serverTransport(v strictjson.Value, remote bool) Transport {
	for _, key := range []string{"type", "transport"} {
		if f := v.Get(key); f != nil && f.Kind == strictjson.String {
			switch f.Text {
			case "http", "streamable_http", "streamable-http", "streamableHttp":
				return HTTP
			case "sse":
				return SSE
			case "stdio":
				return Stdio
			}
			return Transport(cutRunes(f.Text, maxName))
		}
	}
	if remote {
		return HTTP
	}
	return Stdio
}

// droppedValues keeps the names of an object and drops its values.
func (r reader) droppedValues(v *strictjson.Value, path string) []string {
	if v == nil || !r.object(v, path) {
		return nil
	}
	names := []string{}
	for _, m := range v.Members {
		names = append(names, m.Key)
	}
	if len(names) == 0 {
		return nil
	}
	r.warn("values-dropped", path, "values are not kept; names kept as required secrets: %d", len(names))
	return names
}

// normalName makes a name of the format out of any text.
func normalName(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		if (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') {
			b.WriteRune(c)
		} else if !unicode.IsControl(c) && b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > maxName {
		name = strings.Trim(name[:maxName], "-")
	}
	if name == "" {
		name = "server"
	}
	return name
}

func cutRunes(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}
