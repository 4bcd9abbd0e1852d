package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameTestsThatExist: a promise that points to a test which was
// renamed or removed points to nothing.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	eachGoFile(t, func(path string, src []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range declared.FindAllSubmatch(src, -1) {
			exists[string(m[1])] = true
		}
	})
	named := 0
	eachDocument(t, func(path, text string) {
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
			named++
			if !exists[m[1]] {
				t.Errorf("%s names %s, which is no test", path, m[1])
			}
		}
	})
	if named < 40 {
		t.Errorf("the documents name %d tests: the form in which they are named has changed", named)
	}
}

// TestDocumentsNameFilesThatExist holds for paths of this repository between
// back quotes.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	path := regexp.MustCompile("`((?:docs|internal|cmd|policy|test|examples|testdata)/[\\w./-]*)`")
	eachDocument(t, func(doc, text string) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
	})
}

// TestKernelDocumentHasEveryRemedy compares the document with the sentences
// that the fence gives.
func TestKernelDocumentHasEveryRemedy(t *testing.T) {
	source, err := os.ReadFile("internal/spawn/remedy_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("docs/kernel.md")
	if err != nil {
		t.Fatal(err)
	}
	remedies := regexp.MustCompile(`return "([^"]+)"`).FindAllSubmatch(source, -1)
	if len(remedies) < 8 {
		t.Fatalf("only %d remedies were found", len(remedies))
	}
	for _, m := range remedies {
		if !strings.Contains(string(document), "| "+string(m[1])+" |") {
			t.Errorf("docs/kernel.md has no row for the remedy %q", m[1])
		}
	}
}

// TestProgramsLinkNoDocumentGenerator: it is a package of the tests.
func TestProgramsLinkNoDocumentGenerator(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/...") {
		if p.ImportPath == "github.com/spf13/cobra/doc" || strings.Contains(p.ImportPath, "go-md2man") {
			t.Errorf("a program links %s, which only a test may", p.ImportPath)
		}
	}
}

// eachDocument gives every Markdown file that a reader starts from.
func eachDocument(t *testing.T, do func(path, text string)) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			do(f, string(text))
		}
	}
}

// TestDocumentsNameStepsThatExist: a subtest of TestStep that a document names is
// one of the list of attacks, or run by its name.
func TestDocumentsNameStepsThatExist(t *testing.T) {
	source, err := os.ReadFile("internal/spawn/steps_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	eachDocument(t, func(path, text string) {
		for _, m := range regexp.MustCompile("`TestStep/(\\w+)`").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(source), `step: "`+m[1]+`"`) && !strings.Contains(string(source), `t.Run("`+m[1]+`"`) {
				t.Errorf("%s names the step %s, which TestStep does not have", path, m[1])
			}
		}
	})
}

// TestFuzzTargetsAreListed compares the table of targets with the tree.
func TestFuzzTargetsAreListed(t *testing.T) {
	text, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w/-]+)` \\| (`Fuzz.*?) \\|").FindAllSubmatch(text, -1) {
		for _, name := range regexp.MustCompile(`Fuzz\w+`).FindAll(row[2], -1) {
			listed[string(row[1])+" "+string(name)] = true
		}
	}
	eachGoFile(t, func(path string, src []byte) {
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`).FindAllSubmatch(src, -1) {
			one := filepath.ToSlash(filepath.Dir(path)) + " " + string(m[1])
			if !listed[one] {
				t.Errorf("docs/testing.md does not list %s", one)
			}
			delete(listed, one)
		}
	})
	for one := range listed {
		t.Errorf("docs/testing.md lists %s, which is no target", one)
	}
}
