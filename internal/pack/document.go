package pack

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"skill-mcp/internal/yamlcore"
)

const (
	documentName = "SKILL.md"
	maxName      = 64
)

// Document is what a SKILL.md says of itself. Every value is text as it was
// written: 1.10, yes and 2026-01-01 are not touched.
type Document struct {
	HasFrontMatter bool
	Name           string
	Description    string
	Metadata       map[string]string // all other fields, keys in lower case
	Body           string            // without blank lines in front
	Problem        string            // why the front matter could not be read
}

// ParseDocument reads a SKILL.md, or the first part of one. It does not fail:
// what cannot be read is missing, and Problem says why.
func ParseDocument(data []byte) Document {
	d := Document{Metadata: map[string]string{}}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	block, body, ok := splitFrontMatter(text)
	if !ok {
		d.Body = trimBlankLines(text)
		return d
	}
	d.HasFrontMatter, d.Body = true, trimBlankLines(body)
	root, err := yamlcore.Parse([]byte(block), yamlcore.Options{FirstLine: 2})
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	if root.Kind != yamlcore.Map {
		d.Problem = "the front matter is " + root.Kind.String() + ", not a map"
		return d
	}
	d.take(root)
	return d
}

func (d *Document) take(root *yamlcore.Node) {
	fields := map[string]string{}
	for _, e := range root.Entries {
		key := strings.ToLower(e.Key.Text)
		value, ok := fieldText(e.Value)
		if _, twice := fields[key]; ok && !twice {
			fields[key] = value
		}
	}
	d.Name, d.Description = strings.TrimSpace(fields["name"]), strings.TrimSpace(fields["description"])
	delete(fields, "name")
	delete(fields, "description")
	d.Metadata = fields
}

// fieldText keeps a scalar as text and joins a list of scalars; maps are
// dropped.
func fieldText(n *yamlcore.Node) (string, bool) {
	switch n.Kind {
	case yamlcore.Map:
		return "", false
	case yamlcore.Seq:
		parts := []string{}
		for _, item := range n.Items {
			if item.Kind == yamlcore.Map || item.Kind == yamlcore.Seq {
				return "", false
			}
			parts = append(parts, item.Text)
		}
		return strings.Join(parts, ", "), true
	}
	return n.Text, true
}

// splitFrontMatter wants a first line --- and a later line ---; blanks after
// either are let pass.
func splitFrontMatter(text string) (block, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for at := 0; at <= len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], rest[min(at+len(line)+1, len(rest)):], true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", false
}

func trimBlankLines(s string) string {
	for {
		line, rest, more := strings.Cut(s, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// NormaliseName makes a declared name one that can be installed: lower case,
// everything else but letters and digits a single hyphen, at most 64
// characters. It is "" when nothing is left.
func NormaliseName(declared string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(declared) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := b.String()
	return strings.TrimRight(name[:min(len(name), maxName)], "-")
}

// reservedName: these beginnings belong to the product and to the protocol.
func reservedName(name string) bool {
	return strings.HasPrefix(name, "os-") || strings.HasPrefix(name, "mcp-")
}

// ValidName says whether a skill may be installed under this name.
func ValidName(name string) bool {
	return len(name) <= maxName && nameRule().MatchString(name) && !reservedName(name)
}

// setFields writes a SKILL.md again with its name set and its displayName gone.
// Everything else stays byte for byte. The result is read back: where the front
// matter is written in a way that cannot be changed line by line, the error
// says so.
func setFields(data []byte, name string) ([]byte, error) {
	before := ParseDocument(data)
	if !before.HasFrontMatter || before.Problem != "" {
		return nil, fmt.Errorf("its front matter cannot be read: %s", before.Problem)
	}
	if before.Name == name && !hasDisplayName(before) {
		return data, nil
	}
	out := rewriteLines(data, name)
	after := ParseDocument(out)
	delete(before.Metadata, "displayname")
	same := after.Description == before.Description && after.Body == before.Body && len(after.Metadata) == len(before.Metadata)
	for k, v := range before.Metadata {
		same = same && after.Metadata[k] == v
	}
	if after.Name != name || !same {
		return nil, fmt.Errorf("its name cannot be changed line by line: write `name: %s` on a line of its own", name)
	}
	return out, nil
}

func hasDisplayName(d Document) bool {
	_, ok := d.Metadata["displayname"]
	return ok
}

var (
	topKey     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^["']?([^\s"':#-][^"':]*)["']?[ \t]*:(\s|$)`) })
	lineEnding = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\r\n|\r|\n`) })
)

// rewriteLines replaces the lines of the top-level field name and leaves out
// those of displayName, keeping each line's ending.
func rewriteLines(data []byte, name string) []byte {
	var out bytes.Buffer
	inside, dropping, written := false, false, false
	for i, line := range splitLines(data) {
		text := lineEnding().ReplaceAllString(string(line), "")
		ending := line[len(text):]
		fence := strings.TrimRight(text, " \t") == "---"
		switch {
		case i == 0:
			inside = true
		case inside && fence:
			if !written {
				fmt.Fprintf(&out, "name: %s%s", name, ending)
			}
			inside, dropping = false, false
		case inside:
			if m := topKey().FindStringSubmatch(text); m != nil {
				key := strings.ToLower(m[1])
				dropping = key == "displayname" || key == "name"
				if key == "name" {
					fmt.Fprintf(&out, "name: %s%s", name, ending)
					written = true
				}
			}
		}
		if !dropping {
			out.Write(line)
		}
	}
	return out.Bytes()
}

func splitLines(data []byte) [][]byte {
	lines := [][]byte{}
	for len(data) > 0 {
		end := len(data)
		if at := lineEnding().FindIndex(data); at != nil {
			end = at[1]
		}
		lines = append(lines, data[:end])
		data = data[end:]
	}
	return lines
}
