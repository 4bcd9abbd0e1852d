package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestTablesFitTheTerminal: whatever the width, no line is wider, and nothing
// of a cell is lost but the blanks it was wrapped at.
func TestTablesFitTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(12, 120).Draw(t, "width")
		cell := rapid.StringMatching(`[a-z/é日 ]{0,60}`)
		rows := [][]string{}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			rows = append(rows, []string{cell.Draw(t, "a"), cell.Draw(t, "b"), cell.Draw(t, "c")})
		}
		var b bytes.Buffer
		p := &printer{w: &b, width: most}
		p.table([]string{"name", "state", "what"}, rows)
		p.paragraph(strings.Join([]string{"path", "reason:", cell.Draw(t, "text")}, " "), "reason:", colorWarn)
		for _, line := range strings.Split(b.String(), "\n") {
			if w := columns(strings.TrimRight(line, " ")); w > most {
				t.Fatalf("%d columns in %d: %q", w, most, line)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		for _, r := range rows {
			if last := squeeze(r[2]); !strings.Contains(squeeze(b.String()), last) && columns(r[2]) <= most-12 {
				t.Fatalf("%q is not in %q", last, b.String())
			}
		}
	})
}

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	for _, c := range []struct {
		color bool
		want  string
	}{{true, "\x1b[33mwarning:\x1b[0m text\n"}, {false, "warning: text\n"}} {
		var b bytes.Buffer
		(&printer{w: &b, color: c.color}).paragraph("warning: text", "warning:", colorWarn)
		if b.String() != c.want {
			t.Errorf("got %q, want %q", b.String(), c.want)
		}
	}
	var b bytes.Buffer
	if p := newPrinter(&b); p.color || p.width != 0 {
		t.Errorf("a buffer is no terminal: %+v", p)
	}
}

// TestPipedTablesAreLines: a row a line and tabs between, for other programs.
func TestPipedTablesAreLines(t *testing.T) {
	var b bytes.Buffer
	newPrinter(&b).table([]string{"a", "b"}, [][]string{{"x\ty", "1\x1b[31m2"}, {"", strings.Repeat("long ", 50)}})
	want := "x y\t1\ufffd[31m2\n\t" + strings.Repeat("long ", 50) + "\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// FuzzWrap: no line is wider than asked for, and only blanks are lost.
func FuzzWrap(f *testing.F) {
	for _, s := range []string{"", "a", "one two three", strings.Repeat("x", 99), "日本語のテキスト", "e\u0301e\u0301e\u0301", "\u0301\u0301", " a  b "} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 2 || most > 1000 || !utf8.ValidString(s) {
			return
		}
		lines := wrap(s, most)
		for _, l := range lines {
			if columns(l) > most {
				t.Fatalf("%q has %d columns", l, columns(l))
			}
		}
		if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), ""), strings.Join(strings.Fields(s), ""); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
