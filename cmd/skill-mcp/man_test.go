package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"

	"skill-mcp/internal/config"
)

var manFolder = flag.String("man", "", "write the man pages into this folder")

// TestManPages makes one page for each command, and leaves them in the folder
// that -man names. The generator is a package of the test alone: the programs
// do not link it.
func TestManPages(t *testing.T) {
	t.Setenv("SKILLS_DIR", "") // else it is the default of a flag
	dir := *manFolder
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand()
	root.CompletionOptions.DisableDefaultCmd = true
	date := sourceDate(t)
	header := &doc.GenManHeader{Title: "SKILL-MCP", Section: "1", Source: "skill-mcp " + config.Version, Manual: "skill-mcp", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range documented() {
		page := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Errorf("%s has no page: %v", c.CommandPath(), err)
			continue
		}
		for _, part := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s", page, part)
			}
		}
	}
}

// sourceDate is SOURCE_DATE_EPOCH, so that two builds are equal.
func sourceDate(t *testing.T) time.Time {
	v := os.Getenv("SOURCE_DATE_EPOCH")
	if v == "" {
		return time.Unix(0, 0).UTC()
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		t.Fatalf("SOURCE_DATE_EPOCH: %v", err)
	}
	return time.Unix(n, 0).UTC()
}
