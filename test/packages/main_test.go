package packages

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dist is the release's folder, made once for all tests.
var dist string

const repository = "../.."

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run makes the release, or takes the one that SKILL_MCP_RELEASE names: a
// release that was made for publication is tested as it is.
func run(m *testing.M) int {
	if dist = os.Getenv("SKILL_MCP_RELEASE"); dist != "" {
		if err := sameTime(); err != nil {
			fmt.Fprintln(os.Stderr, "read the release:", err)
			return 1
		}
		return m.Run()
	}
	os.Setenv("SOURCE_DATE_EPOCH", "1767225600") // one time for all releases, whatever is committed meanwhile
	dir, err := os.MkdirTemp("", "skill-mcp-packages-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755) // scripts run under uids of their own
	dist = filepath.Join(dir, "dist")
	cmd := exec.Command("go", "run", "./packaging/release", "-host", "-out", dist)
	cmd.Dir, cmd.Stdout, cmd.Stderr = repository, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "make the release:", err)
		return 1
	}
	return m.Run()
}

// sameTime gives what is made here the time that the release says it carries.
func sameTime() error {
	text, err := os.ReadFile(filepath.Join(dist, "provenance.json"))
	if err != nil {
		return err
	}
	epoch := regexp.MustCompile(`"SOURCE_DATE_EPOCH": (\d+)`).FindSubmatch(text)
	if epoch == nil {
		return errors.New("provenance.json names no time")
	}
	return os.Setenv("SOURCE_DATE_EPOCH", string(epoch[1]))
}

// made finds one file of the release: where there is one for each platform,
// that of this one, by Go's name for it or npm's.
func made(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if len(found) > 1 {
		here := map[string]string{"amd64": "x64"}[runtime.GOARCH]
		if here == "" {
			here = runtime.GOARCH
		}
		found = slices.DeleteFunc(found, func(path string) bool {
			name := filepath.Base(path)
			foreign := regexp.MustCompile(`-(darwin|windows|win32)-`).MatchString(name)
			return foreign || !strings.Contains(name, "-"+here+"-") && !regexp.MustCompile(`-`+runtime.GOARCH+`\.\w+$`).MatchString(name)
		})
	}
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files of the release, one is wanted: %v", pattern, len(found), found)
	}
	return found[0]
}

// text is a file of the repository.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// command runs a program that has to succeed and gives what it printed.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// folder is an empty folder that every user can enter, for scripts under uids
// of their own.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "skill-mcp-installed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goPlatform() string { return runtime.GOOS + "-" + runtime.GOARCH }
