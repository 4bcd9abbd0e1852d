package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// toolDirective is a tool of a go.mod, alone or in a block.
var toolDirective = regexp.MustCompile(`(?m)^(?:tool |\t)(\S+/cmd/(\w+))$`)

// toolCalls are the ways in which the gate and a release call a pinned tool:
// by go, by a package that is built for it, by npm's folder of programs.
var toolCalls = regexp.MustCompile(`(?:GO\)|go) tool (\w+)|"\S+/cmd/(\w+)"|"\.bin", "(\w+)"`)

// TestPinnedToolsAreListed compares the table of docs/supply-chain.md with the
// files that pin tools and with what calls them, both ways.
func TestPinnedToolsAreListed(t *testing.T) {
	rows := supplyRows(t, "tool")
	for _, file := range []string{"go.mod", "packaging/tools/go.mod"} {
		for _, m := range toolDirective.FindAllStringSubmatch(read(t, file), -1) {
			if row := rows[m[2]]; len(row) != 4 || row[1] != file {
				t.Errorf("%s pins %s, which the table does not say", file, m[1])
			}
		}
	}
	called := map[string][]string{}
	callers := []string{"Makefile", "test/vulns", "test/install", "test/run-cases", ".ci/run"}
	release, err := filepath.Glob("packaging/release/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(callers, release...) {
		for _, m := range toolCalls.FindAllStringSubmatch(read(t, file), -1) {
			name := m[1] + m[2] + m[3]
			called[name] = append(called[name], file)
		}
	}
	for name, files := range called {
		if len(rows[name]) != 4 {
			t.Errorf("%v call %s, which the table does not list", files, name)
		}
	}
	for name, row := range rows {
		if len(row) != 4 {
			t.Errorf("%s has %d cells", name, len(row)+1)
		} else if len(called[name]) == 0 || called[name][0] != row[2] {
			t.Errorf("%s is called by %v, the table says %s", name, called[name], row[2])
		} else if pin := read(t, row[1]); !strings.Contains(pin, "/"+name+`"`) && !strings.Contains(pin, "/cmd/"+name+"\n") {
			t.Errorf("%s does not pin %s", row[1], name)
		}
	}
}

// TestTestDataOfOthersIsListed: a schema in testdata that somebody else wrote
// stands in the table with its licence, and what the table names is there.
func TestTestDataOfOthersIsListed(t *testing.T) {
	rows := supplyRows(t, "file")
	for file := range rows {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	for _, pattern := range []string{"*/*/testdata/*schema*.json", "*/testdata/*schema*.json", "testdata/*schema*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if len(rows[filepath.ToSlash(file)]) != 2 {
				t.Errorf("docs/supply-chain.md does not say where %s comes from", file)
			}
		}
	}
}

// TestDebianPackagesOfTheTestsAreListed: what test/install brings is what the
// document names.
func TestDebianPackagesOfTheTestsAreListed(t *testing.T) {
	install := regexp.MustCompile(`(?m)^for pair in (.*); do`).FindStringSubmatch(read(t, "test/install"))
	named := regexp.MustCompile(`Debian packages that the tests call \(([^)]*)\)`).FindStringSubmatch(strings.ReplaceAll(read(t, "docs/supply-chain.md"), "\n", " "))
	if install == nil || named == nil {
		t.Fatal("the list of test/install, or that of docs/supply-chain.md, is not where it was")
	}
	want := map[string]bool{}
	for _, pair := range strings.Fields(install[1]) {
		_, pkg, _ := strings.Cut(pair, ":")
		want[pkg] = true
	}
	for _, pkg := range strings.Split(named[1], ", ") {
		if !want[pkg] {
			t.Errorf("docs/supply-chain.md names %s, which test/install does not bring", pkg)
		}
		delete(want, pkg)
	}
	for pkg := range want {
		t.Errorf("test/install brings %s, which docs/supply-chain.md does not name", pkg)
	}
}

// read is a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
