package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestCLIReference keeps docs/cli.md what the commands say of themselves. The
// generator is a package of the test alone: the programs do not link it.
func TestCLIReference(t *testing.T) {
	t.Setenv("SKILLS_DIR", "") // else it is the default of a flag
	got := cliReference(t)
	const path = "../../docs/cli.md"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the commands say: go test ./cmd/skill-mcp -run TestCLIReference -update rewrites it", path)
	}
}

// cliReference renders every command, a parent before its children.
func cliReference(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("# Command reference\n\nMade from the commands by `go test ./cmd/skill-mcp -run TestCLIReference -update`; a test keeps it in step.\n\n")
	commands := documented()
	for _, c := range commands {
		fmt.Fprintf(&out, "- [%s](#%s): %s\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
	}
	for _, c := range commands {
		c.DisableAutoGenTag = true
		var one bytes.Buffer
		if err := doc.GenMarkdown(c, &one); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(one.String(), "### SEE ALSO")
		out.WriteString("\n" + strings.TrimSpace(text) + "\n")
	}
	return out.Bytes()
}

// documented is every command but cobra's own completion and help.
func documented() []*cobra.Command {
	var all []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(newRootCommand())
	return all
}

// TestHelpTexts: whoever runs a command for the first time is told what it
// does, and a command that judges something what its exit code means.
func TestHelpTexts(t *testing.T) {
	for _, c := range documented() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: a short text without a full stop is wanted, got %q", c.CommandPath(), c.Short)
		}
		if c.Long == "" {
			t.Errorf("%s: the help has no long text", c.CommandPath())
		}
		if !strings.Contains(c.Example, "  skill-mcp") && !strings.Contains(c.Example, "| "+c.CommandPath()) {
			t.Errorf("%s: the help has no example", c.CommandPath())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "skill-mcp") {
				t.Errorf("%s: an example is not a command line: %q", c.CommandPath(), line)
			}
		}
		for _, line := range strings.Split(c.Long+"\n"+c.Example, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a help line has more than 100 characters: %q", c.CommandPath(), line)
			}
		}
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outsideTheTable are variables that the configuration reads and the README's
// table has no row for, each with its reason.
var outsideTheTable = map[string]string{
	"MCP_HOST_CONFIRM_SECRET": "set by a host, not by an owner; the text below the table names it",
	"MCP_HOST_METER_FILE":     "a hosted marker; the text below the table names it",
	"MCP_BLOB_BASE_URL":       "a hosted marker; the text below the table names it",
	"HTTPS_PROXY":             "a convention; the text below the table names it",
	"https_proxy":             "a convention; another spelling",
	"HTTP_PROXY":              "a convention; the text below the table names it",
	"http_proxy":              "a convention; another spelling",
}

// TestEveryVariableIsDocumentedAndRead compares the README's table with what is
// asked for when the configuration is read, in both directions.
func TestEveryVariableIsDocumentedAndRead(t *testing.T) {
	text := readme(t)
	table := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(text, -1) {
		table[m[1]] = true
	}
	if len(table) < 10 {
		t.Fatalf("the README's table of variables is not found: %v", table)
	}
	read := variablesRead(t)
	for name := range table {
		if !read[name] {
			t.Errorf("README.md has a row for %s, which nothing reads", name)
		}
	}
	for name := range read {
		if !table[name] && outsideTheTable[name] == "" {
			t.Errorf("%s is read and has no row in README.md", name)
		}
		if !strings.Contains(strings.ToUpper(text), strings.ToUpper(name)) {
			t.Errorf("%s is read and README.md does not name it", name)
		}
	}
	for name := range outsideTheTable {
		if !read[name] {
			t.Errorf("%s is an exception that nothing reads any more", name)
		}
	}
}

// variablesRead asks for a whole configuration and notes every name that is
// looked up: in three environments, since one variable can hide another.
func variablesRead(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, env := range []map[string]string{{}, {"MCP_DATA_DIR": t.TempDir()}, {"MCP_SKILLS_PATH": t.TempDir()}} {
		look := func(name string) (string, bool) {
			read[name] = true
			v, ok := env[name]
			return v, ok
		}
		in := config.Input{Look: grant.Lookup(look), Dir: t.TempDir(), Executable: filepath.Join(t.TempDir(), "bin", "skill-mcp")}
		config.Read(in)
		policyOptions(look)
	}
	return read
}

// TestCommandsOfTheReadmeExist finds every `skill-mcp WORD` of the documents in
// the tree of commands.
func TestCommandsOfTheReadmeExist(t *testing.T) {
	for _, file := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/attack-surface.md", "docs/kernel.md"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range commandsNamed(string(text)) {
			for _, line := range alternatives(words) {
				found, rest, err := newRootCommand().Find(line)
				if err != nil || (len(rest) > 0 && found.HasSubCommands()) {
					t.Errorf("%s names `skill-mcp %s`, which is no command", file, strings.Join(line, " "))
				}
			}
		}
	}
}

// commandsNamed gives what follows the program's name in code, whether in a
// line of its own or between back quotes: lower-case words, and bars between.
func commandsNamed(text string) [][]string {
	var out [][]string
	for _, m := range regexp.MustCompile("(?m)(?:`|^ {4}|\\$ )skill-mcp((?: [a-z][a-z-]*(?:\\|[a-z-]+)*| \\|)+)").FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		out = append(out, words)
	}
	return out
}

// alternatives resolves `policy show | check` and `import preview|apply` into
// the commands they stand for.
func alternatives(words []string) [][]string {
	joined := strings.ReplaceAll(strings.Join(words, " "), " | ", "|")
	fields := strings.Fields(joined)
	if len(fields) < 2 || !strings.Contains(fields[1], "|") {
		return [][]string{fields[:min(2, len(fields))]}
	}
	var out [][]string
	for _, second := range strings.Split(fields[1], "|") {
		out = append(out, []string{fields[0], second})
	}
	return slices.Clip(out)
}

// TestAMisspeltCommandIsAMistake holds for every group: the exit code of a
// check that never ran must not be that of a good one.
func TestAMisspeltCommandIsAMistake(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"unlike any command", []string{"nope"}, "skill-mcp --help lists the commands"},
		{"like a command", []string{"polcy"}, "did you mean policy?"},
		{"in policy", []string{"policy", "chekc"}, "did you mean check?"},
		{"in deps", []string{"deps", "nope"}, "skill-mcp deps --help"},
		{"in import", []string{"import", "priview"}, "did you mean preview?"},
		{"in connector", []string{"connector", "nope"}, "skill-mcp connector --help"},
		{"in specialist", []string{"specialist", "nope"}, "skill-mcp specialist --help"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, code := command(t, newRootCommand(), c.args...)
			if code != exitUsage || !strings.Contains(out, c.want) {
				t.Errorf("exit %d, want %d; output %q has no %q", code, exitUsage, out, c.want)
			}
		})
	}
}

// TestWhatCannotBeImportedIsNotOffered: a preview without a candidate does not
// tell how to install it.
func TestWhatCannotBeImportedIsNotOffered(t *testing.T) {
	out, code := command(t, newRootCommand(), "import", "preview", "../../examples/skills/mcp-dependency", "--store", t.TempDir())
	if code != exitProblem || strings.Contains(out, "to install") || !strings.Contains(out, "no skill in the bundle can be imported") {
		t.Errorf("exit %d, output %q", code, out)
	}
}

// TestExportTellsNamesFromPaths: a skill that is served but was not imported is
// exported by its path, and the refusal of its name says so.
func TestExportTellsNamesFromPaths(t *testing.T) {
	out, code := command(t, newRootCommand(), "export", "skill-mcp-demo", "--store", t.TempDir())
	if code != exitProblem || !strings.Contains(out, "give its folder, such as ./skill-mcp-demo") {
		t.Errorf("exit %d, output %q", code, out)
	}
}
