package pack

import (
	"strings"
	"testing"
)

// FuzzAddress: what is asked of GitHub for an address is below the two names in
// it, and nothing of a password is shown.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"https://github.com/owner/repo", "https://github.com/owner/repo.git", "https://GitHub.com/o/r/tree/main/skills/pdf", "https://github.com/o/r/blob/v1/SKILL.md",
		"https://me:secret@github.com/o/r", "https://github.com/o/../r", "https://github.com/o/r/tree/a/../../b", "https://github.com.evil.test/o/r",
		"https://github.com/o/r?x=1", "git@github.com:o/r.git", "https://github.com/o/r/tree/%2e%2e/x", "https://github.com//o/r", "https://github.com:443/o/r",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, unsafe string) {
		a, err := parseAddress(unsafe)
		if err != nil {
			return
		}
		for _, part := range append([]string{a.owner, a.repo}, a.rest...) {
			if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "/\\\x00") {
				t.Fatalf("%q has the part %q", unsafe, part)
			}
		}
		for n := 1; n <= len(a.rest); n++ {
			if ref, folder := a.split(n); ref == "" || strings.HasPrefix(folder, "/") {
				t.Fatalf("%q splits into %q and %q", unsafe, ref, folder)
			}
		}
	})
}
