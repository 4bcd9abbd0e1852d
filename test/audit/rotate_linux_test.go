package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// serve starts the built server on one skill, with an audit.
func serve(t *testing.T, path string, logged *os.File) *mcpclient.Client {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "skill-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_FENCE") == "1" {
			t.Fatal("bin/skill-mcp is not built: run make")
		}
		t.Skip("not run: bin/skill-mcp is not built: run make")
	}
	skills, err := filepath.Abs(filepath.Join("..", "..", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcpclient.Start(mcpclient.Options{
		Command: []string{bin}, Stderr: logged,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SKILLS_DIR=" + skills, "MCP_SKILL_AUDIT=" + path},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(patience) })
	if _, err := c.Initialize("2025-06-18", nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// audited is a server whose audit lies in a folder that only its owner may
// enter, the path of the audit, and that of what it logs.
func audited(t *testing.T) (c *mcpclient.Client, path, logged string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	path = filepath.Join(dir, "audit.jsonl")
	return serve(t, path, log), path, log.Name()
}

// preview has the server write one line of its audit.
func preview(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	arguments := map[string]any{"name": "skill-mcp-demo", "script": "scripts/report.js"}
	raw, err := c.Call("tools/call", map[string]any{"name": "skill_run", "arguments": arguments}, patience)
	if err != nil || bytes.Contains(raw, []byte(`"isError":true`)) {
		t.Fatalf("%v: %s", err, raw)
	}
}

// await waits until ok is true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
		<-tick.C
	}
}

func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// TestRotation: a locked front that may make no file goes on in a new one when
// the owner has moved the old one away and sends SIGHUP. The folder is closed
// to everybody but its owner, so the front could not open the file itself.
func TestRotation(t *testing.T) {
	c, path, logged := audited(t)
	preview(t, c)
	for turn, old := range []string{path + ".1", path + ".2"} {
		if got := lines(t, path); got != 1 {
			t.Fatalf("turn %d: %d lines before", turn, got)
		}
		if err := os.Rename(path, old); err != nil {
			t.Fatal(err)
		}
		preview(t, c) // not yet told: the old file, under its new name
		if got := lines(t, old); got != 2 {
			t.Fatalf("turn %d: %d lines in the file that was moved", turn, got)
		}
		if err := c.Process().Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, "the new file", func() bool { _, err := os.Stat(path); return err == nil })
		await(t, "the old file's end", func() bool { // made is not yet taken over
			return bytes.Count(read(t, logged), []byte("because=SIGHUP")) == turn+1
		})
		preview(t, c)
		if was, is := lines(t, old), lines(t, path); was != 2 || is != 1 {
			t.Fatalf("turn %d: %d lines in the old file, %d in the new", turn, was, is)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: the new file has the mode %v", err, info.Mode())
	}
}

// TestRotationThatCannotBe: the audit goes on in the old file, and the log says
// what is wrong.
func TestRotationThatCannotBe(t *testing.T) {
	c, path, logged := audited(t)
	old := path + ".1"
	if err := os.Rename(path, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", path); err != nil { // a link is not followed
		t.Fatal(err)
	}
	if err := c.Process().Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, "a line in the log", func() bool { return strings.Contains(string(read(t, logged)), "the audit was not rotated") })
	preview(t, c)
	if got := lines(t, old); got != 1 {
		t.Errorf("%d lines in the old file", got)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
