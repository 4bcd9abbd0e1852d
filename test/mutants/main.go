// Command mutants puts one fault after another into the code that decides, and
// demands that the tests named beside it fail. A fault that no test sees is a
// hole in the tests. The faults are in mutants.txt; nothing in the tree is
// changed: each is an overlay of the build (go help build), which the programs
// that the tests build take over through GOFLAGS.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "only the mutants whose name or file holds this")
	root := flag.String("C", ".", "folder of the module")
	flag.Parse()
	survivors, err := run(*root, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run tries every mutant and prints one line for each.
func run(root, only string) (survivors int, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(root, "test", "mutants", "mutants.txt"))
	if err != nil {
		return 0, err
	}
	list, err := parseList(string(text))
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(m mutant) bool { return !strings.Contains(m.name+" "+m.file, only) })
	if err := control(root, list); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // builds of other users read it
		return 0, err
	}
	var broken []error
	for _, m := range list {
		begun := time.Now()
		missed, err := m.try(root, dir)
		if err != nil {
			broken = append(broken, err)
			fmt.Printf("BROKEN           %s: %s\n", m.file, m.name)
			continue
		}
		word := "caught  "
		if len(missed) > 0 {
			word = "SURVIVED"
			survivors++
		}
		fmt.Printf("%s %5.1f s  %s: %s", word, time.Since(begun).Seconds(), m.file, m.name)
		for _, t := range missed {
			fmt.Printf("\n         not seen by %s of %s", t.name, t.pkg)
		}
		fmt.Println()
	}
	fmt.Printf("%d faults, %d not seen\n", len(list), survivors)
	return survivors, errors.Join(broken...)
}

// control runs every named test on the tree as it is: a test that fails anyway
// would see any fault.
func control(root string, list []mutant) error {
	byPackage := map[string][]string{}
	for _, m := range list {
		for _, t := range m.tests {
			if !slices.Contains(byPackage[t.pkg], t.name) {
				byPackage[t.pkg] = append(byPackage[t.pkg], t.name)
			}
		}
	}
	for pkg, names := range byPackage {
		out, failed := goTest(root, "", pkg, names...)
		for _, name := range names {
			if failed || !strings.Contains(out, "--- PASS: "+name+" ") {
				return fmt.Errorf("%s of %s does not pass without a fault:\n%s", name, pkg, out)
			}
		}
	}
	return nil
}

// try builds one mutant and returns the tests that did not see it.
func (m mutant) try(root, dir string) (missed []namedTest, err error) {
	text, err := m.apply(root)
	if err != nil {
		return nil, err
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, text, 0o644); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, filepath.FromSlash(m.file)): changed}})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o644); err != nil {
		return nil, err
	}
	for _, t := range m.tests {
		out, failed := goTest(root, path, t.pkg, t.name)
		switch {
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return nil, fmt.Errorf("mutant %q does not compile:\n%s", m.name, out)
		case !failed:
			missed = append(missed, t)
		case !strings.Contains(out, "--- FAIL: "+t.name) && !strings.Contains(out, "panic: "):
			return nil, fmt.Errorf("mutant %q: %s failed for another reason:\n%s", m.name, t.name, out)
		}
	}
	return missed, nil
}

// goTest runs tests of one package and returns what it printed and whether it
// failed. A test is named whole, or by its name, a slash and how the names of
// its parts begin.
func goTest(root, overlay, pkg string, names ...string) (out string, failed bool) {
	args := []string{"test", "-count=1", "-v", "-timeout=180s", "-run=" + pattern(names), pkg}
	if usesRapid(root, pkg) {
		// It would write into the tree, and take half a minute to make a failure shorter.
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=1s")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = root, os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+overlay)
	}
	b, err := cmd.CombinedOutput()
	return string(b), err != nil
}

// pattern is the argument of -run for the tests. Parts of one test only are
// joined; otherwise the tests run whole.
func pattern(names []string) string {
	var whole, parts []string
	for _, n := range names {
		name, part, _ := strings.Cut(n, "/")
		if !slices.Contains(whole, name) {
			whole = append(whole, name)
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	run := "^(" + strings.Join(whole, "|") + ")$"
	if len(whole) == 1 && len(parts) == len(names) {
		run += "/^(" + strings.Join(parts, "|") + ")"
	}
	return run
}

// usesRapid reports whether the tests of a package know rapid's flags.
func usesRapid(root, pkg string) bool {
	files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")) // the pattern is a good one
	return slices.ContainsFunc(files, func(f string) bool {
		text, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(text), `"pgregory.net/rapid"`)
	})
}
