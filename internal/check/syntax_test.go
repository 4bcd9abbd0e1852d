package check

import "testing"

func TestNodesWordsBecomeAPlace(t *testing.T) {
	cases := []struct {
		name, said, message string
		at                  place
		ok                  bool
	}{
		{"a module", "file:///s/a.mjs:3\nlet y = 2;\n    ^\n\nSyntaxError: Identifier 'y' has already been declared\n    at f\n", "Identifier 'y' has already been declared", place{3, 5}, true},
		{"a line with tabs", "/s/a.js:1\n\tx y\n\t  ^\nSyntaxError: Unexpected identifier 'y'\n", "Unexpected identifier 'y'", place{1, 4}, true},
		{"the end of the file", "/s/d.cjs:2\n\n\n\nSyntaxError: Unexpected end of input\n    at w\n", "Unexpected end of input", place{2, 1}, true},
		{"an error with a code", "/s/d.cjs:2\nx\n^\nSyntaxError [ERR_X]: no\n", "no", place{2, 1}, true},
		{"no place at all", "SyntaxError: no\n", "no", place{1, 1}, true},
		{"a kind of file that node does not know", "node:internal:1\n  throw new E(ext);\n  ^\n\nTypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension \".ts\" for /s/e.ts\n", "", place{}, false},
		{"nothing", "", "", place{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			message, at, ok := syntaxError(c.said)
			if message != c.message || at != c.at || ok != c.ok {
				t.Errorf("got %q %v %v, want %q %v %v", message, at, ok, c.message, c.at, c.ok)
			}
		})
	}
}

// FuzzSyntaxError: what a script makes node say gives a place from 1 on.
func FuzzSyntaxError(f *testing.F) {
	f.Add("/s/a.js:1\n\tx y\n\t  ^\nSyntaxError: Unexpected identifier 'y'\n")
	f.Add("/s/a.js:99999999999999999999\nx\n^\nSyntaxError: x")
	f.Fuzz(func(t *testing.T, said string) {
		if message, at, ok := syntaxError(said); ok && (message == "" || at.line < 1 || at.column < 1) {
			t.Errorf("%q gives %q at %v", said, message, at)
		}
		firstLine(said)
	})
}
