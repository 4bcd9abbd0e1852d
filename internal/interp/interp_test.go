package interp

import (
	"testing"
)

func TestFirstNumber(t *testing.T) {
	for in, want := range map[string]string{
		"v20.11.1\n": "20.11.1", "Python 3.11.4": "3.11.4", "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)": "5.2.15",
		"deno 1.40.0 (release)": "1.40.0", "1.0.25": "1.0.25", "none": "", "": "", "v22.": "22",
	} {
		if got := firstNumber(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
