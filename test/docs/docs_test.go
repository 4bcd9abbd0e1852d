// Package docs runs what the documents show: the blocks of each are one shell
// session, and a command that fails there fails here.
package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// block is the fence of a code block that is meant to be run. One that is not
// says why: "sh no-run: it serves until it is ended".
var block = regexp.MustCompile("(?ms)^```sh$\n(.*?)^```$")

// build puts the programs into a directory.
func build(t *testing.T) string {
	t.Helper()
	dir := open(t)
	for _, p := range []string{"skill-mcp", "skill-exec", "skill-egress"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, p), "../../cmd/"+p).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// script joins the blocks of a document; each says where it begins when it
// fails.
func script(text string) string {
	var out strings.Builder
	for _, m := range block.FindAllStringSubmatchIndex(text, -1) {
		line := 2 + strings.Count(text[:m[0]], "\n")
		fmt.Fprintf(&out, "block=%d\n%s", line, text[m[2]:m[3]])
	}
	return out.String()
}

// run carries out a session as a reader would, in an empty directory.
func run(t *testing.T, bin, script string) (string, error) {
	t.Helper()
	return session{dir: open(t), path: bin + ":" + os.Getenv("PATH"), most: 2 * time.Minute}.run(script)
}

// open is an empty directory that every user may enter: scripts are other users.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "skill-mcp-docs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// session is where a reader sits.
type session struct {
	dir, home string // home "" is dir
	path      string
	env       []string
	most      time.Duration
}

// run gives what the session printed.
func (s session) run(script string) (string, error) {
	if s.home == "" {
		s.home = s.dir
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.most)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", "set -eu\ntrap 'code=$?; [ $code = 0 ] || echo \"the block at line $block ended with $code\"' EXIT\n"+script)
	c.Dir, c.Env = s.dir, append([]string{"PATH=" + s.path, "HOME=" + s.home, "LANG=C.UTF-8"}, s.env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestTheDocumentsRun(t *testing.T) {
	bin := build(t)
	found := 0
	err := filepath.WalkDir("../../docs", func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" || d.Name() == "cli.md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		commands := script(string(text))
		if commands == "" {
			return nil
		}
		found++
		t.Run(filepath.ToSlash(strings.TrimPrefix(path, "../../docs/")), func(t *testing.T) {
			if out, err := run(t, bin, commands); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
		return nil
	})
	if err != nil || found < 5 {
		t.Errorf("%d documents with commands were found, %v", found, err)
	}
}

// TestAFailingCommandFails: a runner that passes everything shows nothing.
func TestAFailingCommandFails(t *testing.T) {
	out, err := run(t, t.TempDir(), script("text\n```sh\ntrue\n```\n```sh no-run: not here\nexit 3\n```\n```sh\nfalse\ntrue\n```\n"))
	if err == nil || !strings.Contains(out, "the block at line 9 ended with 1") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestLinksLead: a link within the documents leads to a file.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("../../docs/*/*.md")
	top, _ := filepath.Glob("../../*.md")
	for _, path := range append(append(documents, more...), top...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
