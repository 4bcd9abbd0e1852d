package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTheReadmeRuns carries out every command of the README in a copy of the
// source as it would be cloned, with nothing of this project on the PATH: from
// nothing to a confirmed run. Compiled packages and modules are kept.
func TestTheReadmeRuns(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	where := session{dir: filepath.Join(open(t), "skill-mcp"), home: open(t), path: os.Getenv("PATH"), most: 4 * time.Minute}
	clone(t, "../..", where.dir)
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOSUMDB"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		where.env = append(where.env, name+"="+strings.TrimSpace(string(value)))
	}
	out, err := where.run(script(string(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"result: verdict exited, exit code 0", `"argv": [ "hello" ]`, "Every required layer is proved"} {
		if !strings.Contains(flat, want) {
			t.Errorf("the session does not say %q:\n%s", want, out)
		}
	}
}

// clone copies what is in the repository, or would be with the next commit.
func clone(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = from
	names, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(names), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // removed and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// fence is the first line of a code block, and indented is a block without one.
var (
	fence    = regexp.MustCompile("(?m)^ *```([^`\n]+)$")
	indented = regexp.MustCompile(`(?m)^$\n {4,}\S.*$`)
)

// mistake is what is wrong with the code blocks of a document, "" = nothing:
// a command that no test runs has to say why.
func mistake(text string) string {
	fenced := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(text, "")
	if found := indented.FindString(fenced); found != "" {
		return "a block without a fence, which no test runs: " + found
	}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		word, rest, _ := strings.Cut(m[1], " ")
		why, marked := strings.CutPrefix(rest, "no-run: ")
		switch {
		case word == "bash" || word == "shell" || word == "console" || word == "zsh":
			return "commands are marked sh, not " + word
		case word == "sh" && rest != "" && (!marked || len(strings.Fields(why)) < 3):
			return "a block that is not run says why: ```sh no-run: REASON, not ```" + m[1]
		}
	}
	return ""
}

func TestWhatIsNotRunSaysWhy(t *testing.T) {
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil || len(documents) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range documents {
			if filepath.Base(path) == "cli.md" {
				continue // made from the commands' own help
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if m := mistake(string(text)); m != "" {
				t.Errorf("%s: %s", path, m)
			}
		}
	}
	for text, wrong := range map[string]bool{
		"```sh\ntrue\n```\n":                              false,
		"```sh no-run: it serves until it ends\nx\n```\n": false,
		"```yaml\na:\n\n    - b\n```\n":                   false,
		"```sh no-run\nx\n```\n":                          true,
		"```sh no-run: \nx\n```\n":                        true,
		"```sh later\nx\n```\n":                           true,
		"```bash\nx\n```\n":                               true,
		"words\n\n    x --all\n":                          true,
	} {
		if got := mistake(text); (got != "") != wrong {
			t.Errorf("%q: %q", text, got)
		}
	}
}
