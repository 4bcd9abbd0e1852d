package fence

import (
	"os"
	"regexp"
	"testing"
)

func TestHandledFS(t *testing.T) {
	for abi, want := range map[int64]uint64{1: 1<<13 - 1, 2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1, 9: 1<<17 - 1} {
		if got := handledFS(abi); got != want {
			t.Errorf("abi %d: %#x, want %#x", abi, got, want)
		}
	}
}

func TestInGroup(t *testing.T) {
	const text = "9:name=systemd:/\n4:memory:/a/run-1\n3:cpu,cpuacct:/run-1\n0::/user/run-1\n"
	for _, c := range []struct {
		controller, suffix string
		want               bool
	}{
		{"memory", "/run-1", true}, {"cpu", "/run-1", true}, {"cpuacct", "/run-1", true}, {"", "/run-1", true},
		{"pids", "/run-1", false}, {"memory", "/run-2", false}, {"name=systemd", "/run-1", false},
	} {
		if inGroup(text, c.controller, c.suffix) != c.want {
			t.Errorf("%q %q: %v", c.controller, c.suffix, !c.want)
		}
	}
}

// TestStepComments holds every step to its fixed comment.
func TestStepComments(t *testing.T) {
	text := ""
	for _, f := range []string{"steps_linux.go", "init_linux.go", "exec_linux.go", "mount_linux.go", "landlock_linux.go", "canary_linux.go", "child_linux.go", "../spawn/prepare_linux.go", "../spawn/start_linux.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	names := []string{"prepare", "clone"}
	for _, s := range Steps() {
		names = append(names, s.Name)
	}
	for _, n := range names {
		form := regexp.MustCompile(`(?m)^// Step: ` + n + `\n// Prevents: (.*\n(// .*\n)*)// Needs: (.*\n(// .*\n)*)// Order: (.*\n(// .*\n)*)// On failure: .*(\n// .*)*Test: TestStep/` + n + `\nfunc `)
		if !form.MatchString(text) {
			t.Errorf("step %s has no comment of the form", n)
		}
	}
}
