package catalog

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPathUnits is the longest path inside a skill, in UTF-16 units.
const maxPathUnits = 1024

// Refused is an answer to the caller of a tool: what was refused and why, and
// what to do instead (Hint, may be empty).
type Refused struct {
	Message string
	Hint    string
}

// Error gives the message without the hint.
func (r *Refused) Error() string { return r.Message }

const pathHint = `paths are relative to the skill, with plain segments and "/" between them, as skill_load lists them`

// CheckPath refuses a path that is no plain relative path. It looks at the
// text alone: whether the file exists is not asked. Its error is a *Refused.
func CheckPath(unsafePath string) error {
	if why := pathFault(unsafePath); why != "" {
		return &Refused{quotePath(unsafePath) + " is not usable: " + why, pathHint}
	}
	return nil
}

// pathFault gives what is wrong with a path, or "".
func pathFault(p string) string {
	switch {
	case p == "":
		return "it is empty"
	case len(p) > maxPathUnits && units(p) > maxPathUnits:
		return "it is longer than 1024 characters"
	case strings.Contains(p, "\x00"):
		return "it contains a NUL"
	case strings.Contains(p, `\`):
		return `it contains a backslash`
	case strings.Contains(p, "%"):
		return `it contains "%"`
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	}
	for rest, more := p, true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		switch {
		case segment == "":
			return `it has an empty segment ("/" first, last or twice)`
		case segment == "." || segment == "..":
			return `it has a "` + segment + `" segment`
		case strings.TrimSpace(segment) == "":
			return "it has a segment of blanks only"
		}
	}
	return ""
}

// units counts the UTF-16 units of a text.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// quotePath writes a path as JSON text, cut at 120 UTF-16 units.
func quotePath(p string) string {
	const most = 120
	n := 0
	for i, r := range p {
		if n += max(utf16.RuneLen(r), 1); n > most {
			p = p[:i] + "…"
			break
		}
	}
	return quote(p)
}

// quote writes a text as JSON without the escapes that only HTML needs.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// inside reports whether a real path is a real directory or lies within it.
func inside(dir, path string) bool {
	if path == dir {
		return true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.HasPrefix(path, dir)
}
