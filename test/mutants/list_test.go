package main

import (
	"os"
	"strings"
	"testing"
)

// fewest is how many faults the list must have: a list that shrinks would go
// unnoticed.
const fewest = 25

// TestListFitsTheTree keeps the list from going stale: `make mutants`, which
// takes minutes, must find every text and every test it names.
func TestListFitsTheTree(t *testing.T) {
	text, err := os.ReadFile("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseList(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < fewest {
		t.Errorf("%d faults, at least %d", len(list), fewest)
	}
	names, areas := map[string]bool{}, map[string]int{}
	for _, m := range list {
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		areas[strings.Split(m.file, "/")[1]]++
		if _, err := m.apply("../.."); err != nil {
			t.Error(err)
		}
		for _, n := range m.tests {
			if err := n.exists("../.."); err != nil {
				t.Errorf("mutant %q: %v", m.name, err)
			}
		}
	}
	for _, area := range []string{"confirm", "grant", "mcpserver", "wire", "policy", "capture", "catalog", "beneath", "fence", "strictjson", "archive", "egress"} {
		if areas[area] == 0 {
			t.Errorf("no fault in internal/%s", area)
		}
	}
}

func TestPattern(t *testing.T) {
	for want, names := range map[string][]string{
		"^(TestA)$": {"TestA"}, "^(TestA|TestB)$": {"TestA", "TestB"}, "^(TestA)$/^(x)": {"TestA/x"}, "^(TestA)$/^(x|y)": {"TestA/x", "TestA/y"},
	} {
		if got := pattern(names); got != want {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
	}
}

func TestParseList(t *testing.T) {
	good := "# about\n\n== a fault\nfile internal/x/x.go\ntest ./internal/x TestX\n-\told\n+\tnew\n \tstays\n"
	list, err := parseList(good)
	if err != nil || len(list) != 1 || list[0].old != "\told\n\tstays\n" || list[0].new != "\tnew\n\tstays\n" || list[0].tests[0] != (namedTest{"./internal/x", "TestX"}) {
		t.Errorf("%+v %v", list, err)
	}
	for _, bad := range []string{
		"file x\n", "== a\nfile x\n-a\n+b\n", "== a\ntest ./x T\n-a\n+b\n", "== a\nfile x\ntest ./x T\n", "== a\nfile x\ntest ./x T\n-a\n+a\n",
		"== a\nfile x\ntest ./x\n-a\n+b\n", "== a\nwhat is this\n",
	} {
		if list, err := parseList(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, list)
		}
	}
}
