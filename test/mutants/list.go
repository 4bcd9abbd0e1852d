package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one seeded fault: a text of a file, what takes its place, and the
// tests that must fail then.
type mutant struct {
	name     string
	file     string // below the module
	old, new string
	tests    []namedTest
}

// namedTest is a test function of a package.
type namedTest struct{ pkg, name string }

// parseList reads a list of mutants. A line "== NAME" begins one; "file PATH"
// and "test PACKAGE NAME", once for each test, follow; then the change, as
// lines of a diff: "-" was, "+" is, " " stays.
func parseList(text string) ([]mutant, error) {
	var list []mutant
	for at, line := range strings.Split(text, "\n") {
		fail := func(what string) error { return fmt.Errorf("line %d: %s: %q", at+1, what, line) }
		if name, ok := strings.CutPrefix(line, "== "); ok {
			list = append(list, mutant{name: name})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(list) == 0 {
			return nil, fail("no mutant has begun")
		}
		m := &list[len(list)-1]
		words := strings.Fields(line)
		switch {
		case line[0] == '-' || line[0] == '+' || line[0] == ' ':
			m.change(line[0], line[1:])
		case words[0] == "file" && len(words) == 2:
			m.file = words[1]
		case words[0] == "test" && len(words) == 3:
			m.tests = append(m.tests, namedTest{words[1], words[2]})
		default:
			return nil, fail("not a line of a mutant")
		}
	}
	for _, m := range list {
		if m.file == "" || len(m.tests) == 0 || m.old == "" || m.old == m.new {
			return nil, fmt.Errorf("mutant %q: needs a file, a test and a change", m.name)
		}
	}
	return list, nil
}

// change adds one line of the diff.
func (m *mutant) change(sign byte, line string) {
	if sign != '+' {
		m.old += line + "\n"
	}
	if sign != '-' {
		m.new += line + "\n"
	}
}

// apply gives the file of a mutant with the fault in it.
func (m mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.name, err)
	}
	switch n := bytes.Count(text, []byte(m.old)); {
	case n == 0:
		return nil, fmt.Errorf("mutant %q: %s has no such text any more", m.name, m.file)
	case n > 1:
		return nil, fmt.Errorf("mutant %q: %s has the text %d times", m.name, m.file, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// exists reports an error unless the test stands in its package.
func (t namedTest) exists(root string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(t.pkg), "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(t.name, "/")
		if bytes.Contains(text, []byte("\nfunc "+name+"(")) {
			return nil
		}
	}
	return errors.New("no test " + t.name + " in " + t.pkg)
}
