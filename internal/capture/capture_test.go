package capture

import (
	"strings"
	"testing"
)

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "half": "", "one\n": "one", "one\ntwo": "one", "one\r\ntwo\r\nrest": "two", "\xff\n": "\uFFFD",
		strings.Repeat("é", 130) + "\n": strings.Repeat("é", 120),
	} {
		if got := lastLine(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
