package pack

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"skill-mcp/internal/archive"
)

// scriptExtensions are files that some program runs when it is asked to.
var scriptExtensions = []string{
	".bash", ".bat", ".cjs", ".cmd", ".com", ".dll", ".dylib", ".exe", ".fish", ".jar", ".js", ".jsx", ".lua", ".mjs", ".mts", ".php",
	".pl", ".ps1", ".psm1", ".py", ".pyc", ".pyw", ".r", ".rb", ".scpt", ".sh", ".so", ".ts", ".tsx", ".vbs", ".wasm", ".zsh",
}

// isScript goes by the name, the execute bit and the first bytes.
func isScript(f FileInfo, start []byte) bool {
	if f.Executable || slices.Contains(scriptExtensions, strings.ToLower(path.Ext(f.Path))) {
		return true
	}
	for _, magic := range []string{"#!", "\x7fELF", "MZ\x90", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return true
		}
	}
	return false
}

// maxWatched bounds how much of a text file is searched for what a reader does
// not see.
const maxWatched = 1 << 20

// watch keeps the start of a file as its bytes go by.
type watch struct {
	start []byte
	limit int
}

func (w *watch) begin(f FileInfo) {
	w.start, w.limit = w.start[:0], 8
	if isText(f.Path) {
		w.limit = maxWatched
	}
}

func (w *watch) Write(p []byte) (int, error) {
	if room := w.limit - len(w.start); room > 0 {
		w.start = append(w.start, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func isText(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt", ".yaml", ".yml", ".json", ".html":
		return true
	}
	return false
}

// invisible characters are read by a model and not seen by a person.
func invisible(r, before rune) bool {
	switch {
	case r == 0x200d: // joins emoji, and is only strange elsewhere
		return before < 0x2190
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x3164, r == 0x180e, r == 0xfeff:
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tag characters spell hidden ASCII
		// Flags of regions are written with tags after U+1F3F4.
		return before != 0x1f3f4 && !(before >= 0xe0000 && before <= 0xe007f)
	case r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f':
		return true
	}
	return false
}

// hiddenText gives what stands in a text that a person who looks at it does not
// see: invisible characters by line, and comments of Markdown.
func hiddenText(name string, text []byte) []Diagnostic {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	found, line, count := "", 1, 0
	before := rune(0)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == '\n' {
			line++
		}
		if invisible(r, before) {
			count++
			if found == "" {
				found = fmt.Sprintf("first U+%04X on line %d%s", r, line, spelled(text[i:]))
			}
		}
		before = r
		i += n
	}
	var out []Diagnostic
	if count > 0 {
		d := warnf(CodeHiddenText, "holds invisible characters: %d (%s)", count, found)
		d.Path = archive.Shown(name)
		out = append(out, d)
	}
	if n, first := comments(name, text); n > 0 {
		d := warnf(CodeHiddenText, "holds text in comments, not shown when it is rendered (%d), the first: %s", n, archive.Shown(first))
		d.Path = archive.Shown(name)
		out = append(out, d)
	}
	return out
}

// spelled reads what tag characters spell.
func spelled(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r < 0xe0000 || r > 0xe007f {
			break
		}
		if c := r - 0xe0000; c >= ' ' && c < 0x7f {
			b.WriteRune(c)
		}
		text = text[n:]
	}
	if b.Len() == 0 {
		return ""
	}
	return ", they spell " + archive.Shown(b.String())
}

func comments(name string, text []byte) (count int, first string) {
	if ext := strings.ToLower(path.Ext(name)); ext != ".md" && ext != ".markdown" && ext != ".html" {
		return 0, ""
	}
	for {
		_, rest, ok := bytes.Cut(text, []byte("<!--"))
		if !ok {
			return count, first
		}
		comment, after, _ := bytes.Cut(rest, []byte("-->"))
		if count == 0 {
			first = strings.TrimSpace(string(comment))
		}
		count++
		text = after
	}
}
