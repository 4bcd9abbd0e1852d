// Package repo holds the house rules that a compiler cannot: which way imports
// go, what the helper links, that every package says what it is for. Each rule
// has its reason beside it and fails with the place that broke it.
package repo

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// pkg is what `go list` says of one package.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// list runs `go list` for linux, which is what the fence is built for.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Imports,Deps"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

// forbidden is one row of the import table in the design.
type forbidden struct {
	from, to *regexp.Regexp
	deep     bool // also through other packages
	why      string
}

func internal(names string) *regexp.Regexp {
	return regexp.MustCompile(`^skill-mcp/internal/(` + names + `)(/|$)`)
}

// importRules are the directions of the design document, each with its reason.
func importRules() []forbidden {
	front := `stdio|rpc|mcpserver|catalog|yamlcore|confirm|runner|frontlock|policyfile|deps|pack|archive|specialist|connector|doctor|httpserve|launch|config|strictjson|audit|ui|check`
	return []forbidden{
		{internal(front), internal(`monitor|spawn|order|fence|interp|plain|uplink|environ`), true,
			"a front that links the privileged code can be talked into running it"},
		{internal(front), regexp.MustCompile(`^skill-mcp/internal/egress$`), true,
			"the user-space network runs in a process of its own"},
		{internal(`monitor|spawn|order|fence|interp|plain|uplink|environ|capture|beneath`), regexp.MustCompile(`^(skill-mcp/internal/(catalog|yamlcore|mcpserver|deps|archive|policyfile)|net/http|github.com/mark3labs/mcp-go|gopkg.in/yaml|go.yaml.in/yaml)`), true,
			"nothing that parses what a skill author or a model wrote runs with privilege"},
		{internal(`fence`), internal(`monitor|spawn|interp|plain|wire|policy`), true,
			"the child carries out an order; with what decides in reach, it could decide"},
		{internal(`monitor|spawn|order|interp|plain`), internal(`fence`), true,
			"the steps take rights away for good, which belongs in a process of its own"},
		{internal(`wire|policy|grant|report`), regexp.MustCompile(`^skill-mcp/internal/[^/]+`), false,
			"both sides must agree without agreeing on anything else"},
	}
}

// TestImportsGoOneWay holds the import table of the design.
func TestImportsGoOneWay(t *testing.T) {
	pure := internal(`wire|policy|grant|report`)
	for _, p := range list(t, "./...") {
		for _, r := range importRules() {
			if !r.from.MatchString(p.ImportPath) {
				continue
			}
			imports := p.Imports
			if r.deep {
				imports = p.Deps
			}
			for _, i := range imports {
				if r.to.MatchString(i) && !(pure.MatchString(p.ImportPath) && pure.MatchString(i)) {
					t.Errorf("%s may not import %s: %s", p.ImportPath, i, r.why)
				}
			}
		}
	}
}

// TestFewPlacesStartProcesses holds the last row of the table: os/exec and the
// exec calls of syscall and x/sys are used only where a process is meant to start.
func TestFewPlacesStartProcesses(t *testing.T) {
	allowed := regexp.MustCompile(`^(internal/(runner|monitor|interp|plain|spawn|deps|launch|egresswire|doctor)|cmd|packaging/release)/`)
	call := regexp.MustCompile(`\b(syscall|unix)\.(Exec|ForkExec|StartProcess)\(|\bos\.StartProcess\(`)
	eachGoFile(t, func(path string, src []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") || allowed.MatchString(path) {
			return
		}
		if strings.Contains(string(src), `"os/exec"`) || call.Match(src) {
			t.Errorf("%s starts processes: few places may, so that each can be read", path)
		}
	})
}

// TestHelperLinksLittle compares everything the helper links with a golden
// list: a new row is a decision, with a line in docs/decisions.md.
func TestHelperLinksLittle(t *testing.T) {
	var got []string
	for _, p := range list(t, "-deps", "./cmd/skill-exec") {
		if strings.Contains(p.ImportPath, ".") || strings.HasPrefix(p.ImportPath, "skill-mcp/") || p.ImportPath == "net" {
			got = append(got, p.ImportPath)
		}
	}
	sort.Strings(got)
	golden(t, "testdata/helper-deps.txt", strings.Join(got, "\n")+"\n")
}

// golden compares with a file, or rewrites it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (go test -update rewrites it):\nwant:\n%s\ngot:\n%s", path, want, got)
	}
}

// TestEveryPackageSaysWhatItIsFor wants a package comment everywhere.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t, "./...") {
		documented := false
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || file.Doc != nil
		}
		if !documented && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment: what is it for, what can it not do, who may call it", p.ImportPath)
		}
	}
}

// TestPrivilegedSideIsSmall keeps monitor and fence, where every request is
// checked and every right taken away, readable in an evening. What was given a
// package of its own for it does not drop out of sight: all that the helper
// links of this project has a bound too, which is raised by a decision.
func TestPrivilegedSideIsSmall(t *testing.T) {
	const most, mostLinked = 3000, 12500
	lines, linked := map[string]int{}, 0
	for _, p := range list(t, "-deps", "./cmd/skill-exec") {
		if !strings.HasPrefix(p.ImportPath, "skill-mcp/") {
			continue
		}
		for _, f := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			linked += bytes.Count(src, []byte("\n"))
		}
	}
	eachGoFile(t, func(path string, src []byte) {
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata") {
			lines[filepath.ToSlash(filepath.Dir(path))] += bytes.Count(src, []byte("\n"))
		}
	})
	both := lines["internal/monitor"] + lines["internal/fence"]
	t.Logf("monitor and fence: %d lines; all the helper links on linux: %d", both, linked)
	if both >= most {
		t.Errorf("monitor and fence have %d lines, fewer than %d are allowed", both, most)
	}
	if linked >= mostLinked {
		t.Errorf("the helper links %d lines of this project, fewer than %d are allowed", linked, mostLinked)
	}
}

// TestNoStepIsLeftOut keeps the fence whole in what is shipped: only a test may
// run a list of steps that is not all of them.
func TestNoStepIsLeftOut(t *testing.T) {
	call := regexp.MustCompile(`\bfence\.(Run|Steps)\b`)
	eachGoFile(t, func(path string, src []byte) {
		if call.Match(src) && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s runs a list of steps: outside tests there is fence.Child", path)
		}
	})
}

// TestFunctionsEnd holds the longest function of the style guide.
func TestFunctionsEnd(t *testing.T) {
	const most = 80
	eachGoFile(t, func(path string, src []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1; n > most {
					t.Errorf("%s: %s has %d lines, 80 is the end", path, f.Name.Name, n)
				}
			}
		}
	})
}

// TestNoInit holds the style rule, with its one exception: the launch phase
// must leave before the front's packages are initialised.
func TestNoInit(t *testing.T) {
	initFunc := regexp.MustCompile(`(?m)^func init\(\)`)
	eachGoFile(t, func(path string, src []byte) {
		if initFunc.Match(src) && path != "internal/launch/early/early_linux.go" && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has an init function: wiring belongs to main", path)
		}
	})
}

// TestNoAddressesOfRegistries keeps the repository free of download addresses.
func TestNoAddressesOfRegistries(t *testing.T) {
	lock, err := os.ReadFile("test/node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) {
		t.Error("test/node/package-lock.json holds download addresses: npm config omit-lockfile-registry-resolved")
	}
}

// eachGoFile visits the Go files of the repository by slash path.
func eachGoFile(t *testing.T, visit func(path string, src []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err == nil {
			visit(filepath.ToSlash(path), src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLaunchLeavesBeforeTheLibraries: the launch phase runs in an init function
// and Go decides the order by dependencies and names, so one import too many
// makes every start wait for libraries that only the front needs.
func TestLaunchLeavesBeforeTheLibraries(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "skill-mcp")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/skill-mcp").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trace := func(args ...string) string {
		cmd := exec.Command(bin, args...)
		cmd.Env = []string{"GODEBUG=inittrace=1", "SKILLS_DIR=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const library = "init github.com/santhosh-tekuri/jsonschema"
	if strings.Contains(trace("serve"), library) {
		t.Errorf("the launch phase waits for jsonschema: what did internal/launch come to import? (net/netip and unique come late)")
	}
	if !strings.Contains(trace("version"), library) {
		t.Error("the trace shows nothing of the libraries: this test looks at the wrong thing")
	}
}

// TestDesignNamesEveryPackage: the design is the map, and a package that is not
// on it is found by nobody.
func TestDesignNamesEveryPackage(t *testing.T) {
	design, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list(t, "./internal/...") {
		path := strings.TrimPrefix(p.ImportPath, "skill-mcp/")
		if strings.HasSuffix(path, "test") {
			continue // for tests of the package above it
		}
		if !bytes.Contains(design, []byte("`"+path+"`")) {
			t.Errorf("docs/design.md does not say what %s is for", path)
		}
	}
}
