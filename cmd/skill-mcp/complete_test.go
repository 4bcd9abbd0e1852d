package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletions: the shells of four kinds have a script, and the words it
// asks for are what is there now.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, code := command(t, newRootCommand(), "completion", shell); code != 0 || !strings.Contains(out, "skill-mcp") || len(out) < 2000 {
			t.Errorf("%s: exit %d, %d bytes", shell, code, len(out))
		}
	}
	skills, err := filepath.Abs("../../test/page/testdata/skills")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SKILLS_DIR", skills)
	for _, c := range []struct {
		name string
		args []string
		want string // words, then cobra's directive
	}{
		{"skills to show", []string{"show", ""}, "loud notes pdf-forms weather :4"},
		{"skills that begin as typed", []string{"show", "we"}, "weather :4"},
		{"skills with a script to run", []string{"run", ""}, "loud pdf-forms weather :4"},
		{"scripts of a skill", []string{"run", "weather", ""}, "scripts/ask.js scripts/py.py :4"},
		{"scripts of no skill", []string{"run", "nope", ""}, ":4"},
		{"files as arguments of a script", []string{"run", "weather", "scripts/ask.js", ""}, ":0"},
		{"skills to explain", []string{"policy", "explain", "n"}, "notes :4"},
		{"clients", []string{"clients", "c"}, "claude-code claude-desktop codex cursor :4"},
		{"folders to check", []string{"check", ""}, ":16"},
		{"policy files", []string{"policy", "check", ""}, "yaml yml :8"},
		{"what takes no argument", []string{"doctor", ""}, ":4"},
		{"imported skills", []string{"verify", "--into", skills, ""}, "broken loud notes pdf-forms weather :4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := command(t, newRootCommand(), append([]string{"__complete"}, c.args...)...)
			var words []string
			for _, line := range strings.Split(out, "\n") {
				if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, "Completion ended") {
					words = append(words, word)
				}
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestWordsOfShells: a name with a line break would be two words of the shell's
// protocol, and one with a control character a trap.
func TestWordsOfShells(t *testing.T) {
	for text, want := range map[string]int{"pdf": 1, "a b": 1, "a\tb": 0, "a\nb": 0, "a\x1b[2Jb": 0, "\u202eabc": 0} {
		if got := word(text, "says\tthis\nand that"); len(got) != want || (want == 1 && strings.Count(got[0], "\t") != 1) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestStoredNamesComplete: connectors and specialists by their names in the
// store, which a completion does not make.
func TestStoredNamesComplete(t *testing.T) {
	b := newPackageBench(t)
	complete := func(store, line string) string {
		words := strings.Split(line, " ")
		last := len(words) - 1
		words = append(append([]string{"__complete", words[0], words[1], "--store", filepath.Join(b.dir, store)}, words[2:last]...), words[last])
		out, _ := command(t, newRootCommand(), words...)
		out, _, _ = strings.Cut(out, "Completion ended")
		return strings.Join(strings.Fields(out), " ")
	}
	complete("not-there", "connector export ")
	if _, err := os.Stat(filepath.Join(b.dir, "not-there")); err == nil {
		t.Error("a completion made a store")
	}
	b.want(exitOK, "connector", "import", b.write("docs.json", goodConnector))
	b.want(exitOK, "specialist", "preview", b.specialistPackage("1.0.0", "one"))
	b.want(exitOK, "specialist", "install", b.token())
	for line, want := range map[string]string{
		"connector export ":                          "docs :4",
		"connector export-mcp d":                     "docs :4",
		"connector export x":                         ":4",
		"connector export docs ":                     ":4",
		"specialist export ":                         "rev :4",
		"specialist delete r":                        "rev :4",
		"specialist delete rev --revision 1 --with ": "lint :4",
		"specialist export rev --include l":          "lint :4",
		"specialist export --include ":               ":4",
		"specialist export none --include ":          ":4",
	} {
		if got := complete("store", line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
