package mcpserver

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// scheme begins every URI of this server.
const scheme = "skill://"

// fileURI is the URI of a file of a skill, percent-encoded segment by segment,
// so that everything outside RFC 3986's unreserved set is escaped. A skill's
// name needs no escapes.
func fileURI(skill, path string) string {
	var b strings.Builder
	b.Grow(len(scheme) + len(skill) + 1 + len(path) + len(path)/4)
	b.WriteString(scheme)
	b.WriteString(skill)
	b.WriteByte('/')
	escapePath(&b, path)
	return b.String()
}

// escapePath writes path with its slashes kept.
func escapePath(b *strings.Builder, path string) {
	const upperHex = "0123456789ABCDEF"
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '/' || c == '-' || c == '.' || c == '_' || c == '~' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
}

// parseURI takes a URI of a file or folder apart, in the listed, percent-encoded
// form or raw. path is "" for the skill itself. Names of files never hold "%",
// so a "%" in a URI is always an escape.
func parseURI(rawURI string) (skill, path string, ok bool) {
	rest, ok := strings.CutPrefix(rawURI, scheme)
	if !ok {
		return "", "", false
	}
	skill, path, slash := strings.Cut(rest, "/")
	if skill == "" || slash && path == "" {
		return "", "", false
	}
	if strings.Contains(path, "%") {
		// An escaped slash or dot segment would be another path than the one seen.
		segments := strings.Split(path, "/")
		for i, s := range segments {
			u, err := url.PathUnescape(s)
			if err != nil || strings.Contains(u, "/") {
				return "", "", false
			}
			segments[i] = u
		}
		path = strings.Join(segments, "/")
	}
	if !utf8.ValidString(path) || strings.Contains(skill, "%") {
		return "", "", false
	}
	return skill, path, true
}
