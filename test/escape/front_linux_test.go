package escape

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheFrontIsLocked compares the running front with one expected value for
// each of its threads, and looks for the owner's value in both processes.
func TestTheFrontIsLocked(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := start(t, uid, "")
			s.acts("sig.js") // it has worked, so its threads are there
			front := s.c.Process().Pid
			want := map[string]string{
				"Uid": fmt.Sprintf("%d %[1]d %[1]d %[1]d", plainUserOf(uid)), "Groups": "", "NoNewPrivs": "1", "Seccomp": "2",
				"CapInh": "", "CapPrm": "", "CapEff": "", "CapAmb": "",
			}
			if uid == 0 {
				want["CapBnd"] = ""
			}
			tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", front))
			s.must(err)
			for _, task := range tasks {
				if d := cmp.Diff(want, status(t, front, task.Name(), want)); d != "" {
					t.Errorf("thread %s (-want +got):\n%s", task.Name(), d)
				}
			}
			for what, pid := range map[string]int{"front": front, "monitor": s.monitor} {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
				if err == nil && strings.Contains(string(text), s.m.Sentinel) {
					t.Errorf("the environ of the %s holds the owner's value", what)
				}
				if what == "front" && err == nil && len(strings.Trim(string(text), "\x00")) > 0 {
					t.Errorf("the front has an environment: %q", text)
				}
			}
		})
	}
}

// plainUserOf is whom the front of a server becomes: nobody when that was root.
func plainUserOf(uid int) int {
	if uid == 0 {
		return plainUser
	}
	return uid
}

// status gives the wanted fields of a thread, numbers without leading zeros.
func status(t *testing.T, pid int, task string, want map[string]string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if _, ok := want[name]; !ok {
			continue
		}
		value = strings.Join(strings.Fields(value), " ")
		if strings.HasPrefix(name, "Cap") {
			value = strings.TrimLeft(value, "0")
		}
		out[name] = value
	}
	return out
}
