package check

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"skill-mcp/internal/catalog"
)

// Checker asks node whether a script of a skill can be parsed. root is the
// index of the directory that was scanned. reason says why it could not be
// asked; said is empty when the script can be parsed, else what node wrote.
type Checker interface {
	Syntax(ctx context.Context, root int, s *catalog.Skill, script string) (said, reason string)
}

// maxUndeclared bounds how many scripts that nothing declares are parsed in a
// skill: each costs the start of node inside the fence, 0.1 s.
const maxUndeclared = 32

// syntax has node parse the scripts of a skill: those declared for it, and the
// JavaScript in the folder scripts, which those use.
func (c *checker) syntax(ctx context.Context, root int, s *catalog.Skill) {
	declared := map[string]bool{}
	for _, d := range s.Declaration.Scripts {
		declared[d.Path] = true
		if _, err := s.Resolve(d.Path); err == nil && d.Interpreter == "node" {
			c.parse(ctx, root, s, d.Path, Error)
		}
	}
	n := 0
	for _, p := range s.Paths() {
		if declared[p] || !isModule(p) {
			continue
		}
		if n++; n > maxUndeclared {
			c.out.NotChecked = append(c.out.NotChecked, Unchecked{filepath.Join(s.Dir, filepath.FromSlash(p)), "node syntax",
				fmt.Sprintf("only the first %d undeclared scripts of a skill are parsed", maxUndeclared)})
			return
		}
		c.parse(ctx, root, s, p, Warning)
	}
}

// isModule reports whether node would parse a file as a program.
func isModule(p string) bool {
	switch path.Ext(p) {
	case ".js", ".mjs", ".cjs":
		return strings.HasPrefix(p, "scripts/")
	}
	return false
}

// parse has node parse one script.
func (c *checker) parse(ctx context.Context, root int, s *catalog.Skill, script string, level Level) {
	file := filepath.Join(s.Dir, filepath.FromSlash(script))
	said, reason := c.o.Syntax.Syntax(ctx, root, s, script)
	if reason == "" && said == "" {
		return
	}
	if reason == "" {
		if message, at, ok := syntaxError(said); ok {
			c.add(file, at, level, CodeSyntax, message)
			return
		}
		reason = "node gave no syntax error but said: " + firstLine(said)
	}
	c.out.NotChecked = append(c.out.NotChecked, Unchecked{file, "node syntax", reason})
}

var (
	errorLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^SyntaxError(?: \[[A-Z_]+\])?: (.+?)\r?$`) })
	whereLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:file://|/).*:(\d+)\r?\n(.*)\n([ \t]*)\^`) })
	whereShort = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:file://|/).*:(\d+)\r?$`) })
)

// syntaxError reads what node --check writes: the file with a line, the line
// itself, a caret below it, and the error.
func syntaxError(said string) (message string, at place, ok bool) {
	m := errorLine().FindStringSubmatch(said)
	if m == nil {
		return "", place{}, false
	}
	at = place{1, 1}
	if w := whereLine().FindStringSubmatch(said); w != nil {
		at.line, at.column = number(w[1]), utf8.RuneCountInString(w[3])+1
	} else if w := whereShort().FindStringSubmatch(said); w != nil {
		at.line = number(w[1])
	}
	return m[1], at, true
}

// number reads a line number; node's begin at 1, and so does a place.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return max(n, 1)
}

// firstLine is the first line with an error in it, else the first, shortened.
func firstLine(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	for l := range strings.Lines(said) {
		if strings.Contains(l, "Error") && !strings.HasPrefix(strings.TrimSpace(l), "throw ") {
			line = strings.TrimSpace(l)
			break
		}
	}
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	return line
}
