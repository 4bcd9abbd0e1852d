package capture

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzLastLine: what a person is shown while a script writes is one line of
// characters, short, whatever the bytes are.
func FuzzLastLine(f *testing.F) {
	for _, s := range []string{"a\nb\n", "half", "\r\n", "\xff\xfe\n", strings.Repeat("€", 200) + "\n", "a\x00b\n", "\n\n", "\x1b[31mred\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		line := lastLine(tail)
		if !utf8.ValidString(line) || utf8.RuneCountInString(line) > lineMax || strings.Contains(line, "\n") {
			t.Fatalf("%q gives %q", tail, line)
		}
	})
}
