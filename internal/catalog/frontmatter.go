package catalog

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"skill-mcp/internal/yamlcore"
)

const (
	// MaxSkillMD is how much of a SKILL.md is read.
	MaxSkillMD = 256 << 10
	// maxFrontmatter is the longest frontmatter block.
	maxFrontmatter = yamlcore.MaxBytes
)

// document is a SKILL.md taken apart.
type document struct {
	frontmatter *yamlcore.Node // always a map
	body        string         // what follows the closing fence, untouched
}

// parseSkillMD takes the text of a SKILL.md apart. Its error is for the author
// of the file: what is wrong, where, and how to put it right.
func parseSkillMD(src []byte) (*document, error) {
	block, body, err := split(strings.TrimPrefix(yamlcore.DecodeUTF8(src), "\uFEFF"))
	if err != nil {
		return nil, err
	}
	if len(block) > maxFrontmatter {
		return nil, fmt.Errorf("the frontmatter has %d bytes, more than the %d that are read", len(block), maxFrontmatter)
	}
	root, err := yamlcore.Parse([]byte(block+"\n"), yamlcore.Options{FirstLine: 2, MaxBytes: maxFrontmatter + 1})
	if err != nil {
		return nil, fmt.Errorf("the frontmatter is not valid YAML: %w", err)
	}
	if root.Kind != yamlcore.Map {
		return nil, fmt.Errorf("the frontmatter is %s, not a map of keys and values", root.Kind)
	}
	return &document{root, body}, nil
}

// split finds the block between the fences, and the text behind them.
func split(text string) (block, body string, err error) {
	first, rest, ok := cutLine(text)
	if !isFence(first) || !ok {
		return "", "", fmt.Errorf("line 1 does not begin a frontmatter block: the file has to start with a line of three dashes (---)%s", before(text))
	}
	if line, _, _ := cutLine(rest); isFence(line) {
		return "", "", fmt.Errorf("the frontmatter block is empty: put name and description between the two lines of three dashes")
	}
	for off := 0; off < len(rest); {
		line, _, more := cutLine(rest[off:])
		end := off + len(line)
		if isFence(line) {
			return strings.TrimSuffix(strings.TrimSuffix(rest[:off], "\n"), "\r"), afterLine(rest[end:]), nil
		}
		if !more {
			break
		}
		off = end + len(rest[end:]) - len(afterLine(rest[end:]))
	}
	return "", "", fmt.Errorf("the frontmatter block is never closed: end it with a line of three dashes (---)")
}

// cutLine gives the first line without its line end, and what follows; ok is
// false when no line end follows.
func cutLine(s string) (line, rest string, ok bool) {
	line, rest, ok = strings.Cut(s, "\n")
	if ok {
		line = strings.TrimSuffix(line, "\r")
	}
	return line, rest, ok
}

// afterLine steps over the line end that s begins with.
func afterLine(s string) string {
	return strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
}

// isFence reports whether a line is three dashes, with blanks behind at most.
func isFence(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	return ok && strings.Trim(rest, " \t") == ""
}

// before names what stands where the opening fence is due.
func before(text string) string {
	line, _, _ := cutLine(text)
	switch {
	case text == "":
		return "; it is empty"
	case strings.TrimSpace(line) == "":
		return "; it starts with a blank line"
	case strings.HasPrefix(strings.TrimLeft(line, " \t"), "---"):
		return "; its first line has more than that"
	}
	return "; something stands before it"
}

// wholeCharacters cuts a character that the end of b splits. What is not UTF-8
// anyway stays as it is.
func wholeCharacters(b string) string {
	for back := 1; back <= utf8.UTFMax-1 && back <= len(b); back++ {
		c := b[len(b)-back]
		if utf8.RuneStart(c) {
			if !utf8.FullRuneInString(b[len(b)-back:]) {
				return b[:len(b)-back]
			}
			return b
		}
	}
	return b
}
