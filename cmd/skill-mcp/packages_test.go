package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// packageBench runs the package commands on a store of its own.
type packageBench struct {
	t             *testing.T
	dir           string
	stdout, stder bytes.Buffer
}

// run gives the exit code; the outputs are those of this run alone.
func (b *packageBench) run(args ...string) int {
	b.t.Helper()
	b.stdout.Reset()
	b.stder.Reset()
	root := newRootCommand()
	root.SetOut(&b.stdout)
	root.SetErr(&b.stder)
	root.SetArgs(append(args, "--store", filepath.Join(b.dir, "store")))
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	b.stder.WriteString(err.Error())
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitUsage
}

func (b *packageBench) want(code int, args ...string) {
	b.t.Helper()
	if got := b.run(args...); got != code {
		b.t.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, got, code, &b.stdout, &b.stder)
	}
}

func (b *packageBench) bundle(entries ...ziptest.Entry) string {
	b.t.Helper()
	name := filepath.Join(b.t.TempDir(), "bundle.zip")
	if err := os.WriteFile(name, ziptest.Zip(entries...), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return name
}

var tokenLine = regexp.MustCompile(`(?m)^token ([0-9a-f]{64})`)

func (b *packageBench) token() string {
	b.t.Helper()
	m := tokenLine.FindStringSubmatch(b.stdout.String())
	if m == nil {
		b.t.Fatalf("no token in %s", &b.stdout)
	}
	return m[1]
}

func skillFile(path, name, body string) ziptest.Entry {
	return ziptest.Entry{Name: path, Data: []byte("---\nname: " + name + "\ndescription: d\n---\n" + body)}
}

func newPackageBench(t *testing.T) *packageBench {
	return &packageBench{t: t, dir: t.TempDir()}
}

func TestImportExportVerifyUninstall(t *testing.T) {
	b := newPackageBench(t)
	hostile := ziptest.Entry{Name: "bad/\x1b[2J\u202e.md"}
	source := b.bundle(skillFile("a/SKILL.md", "a", "one"), skillFile("b/SKILL.md", "b", "two"), skillFile("bad/SKILL.md", "bad", ""), hostile)
	b.want(exitOK, "import", "preview", source)
	if out := b.stdout.String(); strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, `\x1b[2J\u{202e}.md`) || !strings.Contains(out, "skill.file-unusable") {
		t.Errorf("hostile names are not shown safely:\n%q", out)
	}
	token := b.token()
	b.want(exitProblem, "import", "apply", token) // three skills: choose
	if !strings.Contains(b.stder.String(), "apply.choose") {
		t.Error(b.stder.String())
	}
	b.want(exitProblem, "import", "apply", token, "--select", "a", "--select", "bad")
	if out := b.stdout.String(); !strings.Contains(out, `"a": imported as a`) || !strings.Contains(out, `"bad": error`) {
		t.Error(out)
	}
	b.want(exitOK, "verify")
	changed := b.bundle(skillFile("a/SKILL.md", "a", "other"))
	b.want(exitOK, "import", "preview", changed)
	b.want(exitProblem, "import", "apply", b.token(), "--all")
	b.want(exitOK, "import", "preview", changed)
	b.want(exitOK, "import", "apply", b.token(), "--select", "a=a")
	out := filepath.Join(b.dir, "out.zip")
	b.want(exitOK, "export", "a", "-o", out)
	b.want(exitOK, "import", "preview", out)
	if !strings.Contains(b.stdout.String(), `".": unchanged as a`) {
		t.Error(b.stdout.String())
	}
	if err := os.WriteFile(filepath.Join(b.dir, "store/skills/a/new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.want(exitProblem, "verify", "a")
	b.want(exitProblem, "uninstall", "none")
	b.want(exitOK, "uninstall", "a")
	b.want(exitOK, "verify")
	b.want(exitUsage, "import", "preview")
}

func TestPackageCommandsInJSON(t *testing.T) {
	b := newPackageBench(t)
	answer := func(into any) {
		t.Helper()
		if err := json.Unmarshal(b.stdout.Bytes(), into); err != nil {
			t.Fatalf("%v: %s", err, &b.stdout)
		}
	}
	var failed struct {
		Error struct{ Code, Message string }
	}
	b.want(exitProblem, "import", "preview", b.bundle(ziptest.Entry{Name: "../x"}), "--json")
	if answer(&failed); failed.Error.Code != "archive.path-traversal" {
		t.Errorf("%+v", failed)
	}
	var p struct {
		Token      string
		Candidates []struct{ Path, ContentHash, Action string }
	}
	b.want(exitOK, "import", "preview", b.bundle(skillFile("SKILL.md", "x", "")), "--json", "--into", filepath.Join(b.dir, "mine"))
	if answer(&p); len(p.Candidates) != 1 || p.Candidates[0].Action != "install" || b.stder.Len() != 0 {
		t.Errorf("%+v %s", p, &b.stder)
	}
	var a struct {
		Results []struct{ Status, ContentHash string }
	}
	b.want(exitOK, "import", "apply", p.Token, "--select", ".", "--json")
	if answer(&a); a.Results[0].Status != "imported" || a.Results[0].ContentHash != p.Candidates[0].ContentHash {
		t.Errorf("%+v", a)
	}
	var v struct {
		Skills []struct{ ID, Condition string }
	}
	b.want(exitOK, "verify", "--json", "--into", filepath.Join(b.dir, "mine"))
	if answer(&v); len(v.Skills) != 1 || v.Skills[0].Condition != "intact" {
		t.Errorf("%+v", v)
	}
	b.want(exitProblem, "uninstall", "y", "--json", "--into", filepath.Join(b.dir, "mine"))
	if answer(&failed); failed.Error.Code != "skill.unknown" {
		t.Errorf("%+v", failed)
	}
	b.want(exitOK, "uninstall", "x", "--json", "--into", filepath.Join(b.dir, "mine"))
}

func TestChoices(t *testing.T) {
	got := choices([]string{".", "a/b/", "a=x", ".=x-1", "k=v/w", "n.zip/s#2=id"})
	want := []string{" ", "a/b ", "a x", " x-1", "k=v/w ", "n.zip/s#2 id"}
	for i, c := range got {
		if c.Path+" "+c.ReplaceID != want[i] {
			t.Errorf("%d: %+v", i, c)
		}
	}
}
