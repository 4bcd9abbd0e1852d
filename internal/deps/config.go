package deps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
)

// maxConfig bounds the text of one run's configuration: it crosses the wall.
const maxConfig = 1 << 20

// server is one server as mcporter 0.12.3 reads it, in the order of keys that
// was proven to work. allowedTools and blockedTools together would make the
// whole file invalid, so at most one is written.
type server struct {
	Description  string    `json:"description,omitempty"`
	BaseURL      string    `json:"baseUrl,omitempty"`
	Protocol     string    `json:"protocolVersion,omitempty"`
	BearerToken  string    `json:"bearerToken,omitempty"`
	Command      string    `json:"command,omitempty"`
	Args         []string  `json:"args,omitempty"`
	AllowedTools *[]string `json:"allowedTools,omitempty"`
	BlockedTools []string  `json:"blockedTools,omitempty"`
	Lifecycle    string    `json:"lifecycle"`
}

// Config writes the configuration of a run: two-space JSON, servers sorted by
// name, always `imports: []` so that nothing of the user's own configuration
// is merged in. It names variables and holds no value.
func Config(union []United) ([]byte, error) {
	servers := make(map[string]server, len(union)) // encoding/json sorts by key
	for _, u := range union {
		servers[u.Name] = configured(u.Server)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Servers map[string]server `json:"mcpServers"`
		Imports []string          `json:"imports"`
	}{servers, []string{}})
	if err != nil {
		return nil, fmt.Errorf("write the mcporter configuration: %w", err)
	}
	if b.Len() > maxConfig {
		return nil, Problems{{Code: CodeConfigSize, Detail: fmt.Sprintf("the configuration of the run has %d bytes, at most %d", b.Len(), maxConfig)}}
	}
	return b.Bytes(), nil
}

// configured maps one server as measured: bearerTokenEnv would send the token
// without "Bearer ", so the placeholder form is used.
func configured(s Server) server {
	out := server{Description: s.Description, Lifecycle: "ephemeral"}
	if s.Transport == HTTP {
		out.BaseURL, out.Protocol = s.URL, s.Protocol
		if s.BearerEnv != "" {
			out.BearerToken = "${" + s.BearerEnv + "}"
		}
	} else {
		out.Command, out.Args = "/bin/sh", []string{"-lc", s.Command}
	}
	switch {
	case s.Enabled != nil:
		allowed := slices.DeleteFunc(set(*s.Enabled), func(t string) bool {
			return s.Disabled != nil && slices.Contains(*s.Disabled, t)
		})
		out.AllowedTools = &allowed
	case s.Disabled != nil && len(*s.Disabled) > 0:
		out.BlockedTools = set(*s.Disabled)
	}
	return out
}

// minSecret is the shortest value that is looked for: shorter ones occur by
// chance in any text, and no credential is that short.
const minSecret = 8

// Scan looks for the values of variables in a text, as they stand and as JSON
// writes them. The error names the variables and never a value.
func Scan(text []byte, values map[string]string) error {
	var names []string
	for name, v := range values {
		if len(v) < minSecret {
			continue
		}
		quoted, _ := json.Marshal(v)
		if bytes.Contains(text, []byte(v)) || bytes.Contains(text, quoted[1:len(quoted)-1]) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	sort.Strings(names)
	return Problems{{Code: CodeSecretInText, Detail: fmt.Sprintf(
		"the configuration would hold the value of %s: a declaration repeats it", strings.Join(names, ", "))}}
}

// Hosts returns the host names of the HTTP servers of a union, sorted.
func Hosts(union []United) []string {
	var out []string
	for _, u := range union {
		if u.Transport != HTTP {
			continue
		}
		if a, err := url.Parse(u.URL); err == nil {
			out = append(out, strings.ToLower(a.Hostname()))
		}
	}
	return set(out)
}

// Environment returns what a run with a configuration needs beside it, and the
// names that must not be passed on. Keep-alive would leave a daemon behind, and
// its fast path loses standard input (measured on 0.12.3).
func Environment() (set map[string]string, drop []string) {
	return map[string]string{"MCPORTER_DISABLE_KEEPALIVE": "*", "MCPORTER_OAUTH_NO_BROWSER": "1"},
		[]string{"MCPORTER_KEEPALIVE", "MCPORTER_NO_KEEPALIVE"}
}
