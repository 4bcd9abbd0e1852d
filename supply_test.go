package repo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// supplyRows are the rows of the table of docs/supply-chain.md whose first
// column has this heading.
func supplyRows(t *testing.T, heading string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("docs/supply-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| "+heading+" |")
	if !found {
		t.Fatalf("no table of %s", heading)
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if rows[cells[0]] != nil || cells[len(cells)-1] == "" {
			t.Errorf("%s stands twice, or without a reason", cells[0])
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// TestSupplyChainListsEveryModule compares the table with go.mod, with what the
// programs link, and with the licence files of the modules.
func TestSupplyChainListsEveryModule(t *testing.T) {
	rows := supplyRows(t, "module")
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	linked, built := linkedModules(t), builtModules(t)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+`).FindAllSubmatch(mod, -1) {
		path := string(m[1])
		row := rows[path]
		delete(rows, path)
		if len(row) != 3 {
			t.Errorf("docs/supply-chain.md has no row of three cells for %s", path)
			continue
		}
		want := strings.Join(linked[path], " ")
		if want == "" && slices.Contains([]string{"tests", "tools", "graph"}, row[1]) {
			want = row[1]
			if built[path] != (want == "tests") {
				t.Errorf("%s is in %s, but packages here and their tests need it: %v", path, want, built[path])
			}
		}
		if row[1] != want {
			t.Errorf("%s is in %q, the table says %q", path, want, row[1])
		}
		if got := licenceOf(t, path); got != row[0] {
			t.Errorf("%s has the licence %q, the table says %q", path, got, row[0])
		}
	}
	for path := range rows {
		t.Errorf("docs/supply-chain.md lists %s, which go.mod does not require", path)
	}
}

// linkedModules are the modules of each program on Linux: module -> programs.
func linkedModules(t *testing.T) map[string][]string {
	t.Helper()
	linked := map[string][]string{}
	for _, program := range []string{"mcp", "exec", "egress"} {
		for _, path := range goModules(t, "-deps", "./cmd/skill-"+program) {
			linked[path] = append(linked[path], program)
		}
	}
	return linked
}

// builtModules are those that a package here, or its tests, need.
func builtModules(t *testing.T) map[string]bool {
	t.Helper()
	built := map[string]bool{}
	for _, path := range goModules(t, "-deps", "-test", "./...") {
		built[path] = true
	}
	return built
}

// goModules are the modules of packages, each once.
func goModules(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", "{{with .Module}}{{.Path}}{{end}}"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	paths := strings.Fields(string(out))
	sort.Strings(paths)
	return slices.Compact(paths)
}

// licenceOf reads the licence file of a module by the words that only its kind has.
func licenceOf(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where is %s: %q %v", module, dir, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "[LC][IiOo][CcPp][EeYy]*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no licence file in %s (%v)", module, dir, err)
	}
	sort.Strings(files)
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(strings.Join(strings.Fields(string(raw)), " "))
	var kinds []string
	for _, k := range []struct{ words, name string }{
		{"apache license", "Apache-2.0"},
		{"mozilla public license", "MPL-2.0"},
		{"permission is hereby granted, free of charge", "MIT"},
	} {
		if strings.Contains(text, k.words) {
			kinds = append(kinds, k.name)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms") {
		bsd := "BSD-2-Clause"
		if regexp.MustCompile(`neither the name|may not be used to endorse|be used to endorse`).MatchString(text) {
			bsd = "BSD-3-Clause"
		}
		kinds = append(kinds, bsd)
	}
	if strings.Contains(text, "gnu general public license") && slices.Contains(kinds, "BSD-3-Clause") {
		return "BSD-3-Clause or GPL-2.0"
	}
	return strings.Join(kinds, " and ")
}

// TestSupplyChainListsEveryNpmPackage compares the table with the lock file:
// the packages that the tests name, and the licences of all of them.
func TestSupplyChainListsEveryNpmPackage(t *testing.T) {
	rows := supplyRows(t, "package")
	raw, err := os.ReadFile("test/node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Dependencies                 map[string]string
			License, Integrity, Resolved string
		}
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	for name := range lock.Packages[""].Dependencies {
		row := rows[name]
		delete(rows, name)
		if want := lock.Packages["node_modules/"+name].License; len(row) != 2 || row[0] != want {
			t.Errorf("docs/supply-chain.md has %q for %s, whose licence is %q", row, name, want)
		}
	}
	for name := range rows {
		t.Errorf("docs/supply-chain.md lists %s, which the tests do not name", name)
	}
	known := strings.Fields("MIT ISC MPL-2.0 Apache-2.0 BSD-2-Clause BSD-3-Clause 0BSD BlueOak-1.0.0 Python-2.0 CC0-1.0 Zlib GPL-3.0-or-later GPL-2.0 OR AND")
	for path, p := range lock.Packages {
		if path == "" {
			continue
		}
		if p.Integrity == "" || p.Resolved != "" {
			t.Errorf("%s has no hash, or an address", path)
		}
		for _, word := range strings.Fields(strings.Trim(p.License, "()")) {
			if !slices.Contains(known, word) && p.License != "SEE LICENSE IN LICENSE" {
				t.Errorf("%s has the licence %q", path, p.License)
			}
		}
	}
}

// TestAKnownVulnerabilityEndsTheGate gives the gate's script databases of its
// own (a fault needs seconds: the code is read and its calls followed): one that
// knows of nothing, one that knows of a fault in a call this tree
// makes, and one that is not there.
func TestAKnownVulnerabilityEndsTheGate(t *testing.T) {
	const none, one = `[]`, `[{"path": "golang.org/x/sys", "vulns": [{"id": "GO-2000-0001", "modified": "2000-01-01T00:00:00Z"}]}]`
	for name, c := range map[string]struct {
		modules, says string
		good          bool
	}{
		"nothing known":   {none, "vulns: none is known", true},
		"a reached fault": {one, "GO-2000-0001", false},
		"no database":     {"", "vulndb", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range map[string]string{
				"index/db.json": `{"modified": "2000-01-01T00:00:00Z"}`, "index/modules.json": c.modules, "index/vulns.json": `[]`,
				"ID/GO-2000-0001.json": `{"schema_version": "1.3.1", "id": "GO-2000-0001", "modified": "2000-01-01T00:00:00Z", "published": "2000-01-01T00:00:00Z",
					"summary": "made for a test", "affected": [{"package": {"name": "golang.org/x/sys", "ecosystem": "Go"},
					"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
					"ecosystem_specific": {"imports": [{"path": "golang.org/x/sys/unix", "symbols": ["Openat2"]}]}}]}`,
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("test/vulns", "./internal/beneath")
			cmd.Env = append(os.Environ(), "VULNDB=file://"+dir)
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.good || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %.2000s", err, out)
			}
		})
	}
}
