//go:build unix

package deps

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a shell program that stands for mcporter.
func script(t *testing.T, body string) []string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{p}
}

func TestRunGivesThePrivateFile(t *testing.T) {
	for _, mask := range []int{0, 0o077} {
		old := syscall.Umask(mask)
		var out bytes.Buffer
		code, err := Run(context.Background(), Command{
			Argv: script(t, `stat -c %a "$MCPORTER_CONFIG"; stat -c %a "$(dirname "$MCPORTER_CONFIG")"; cat "$MCPORTER_CONFIG"; echo "$MCPORTER_CONFIG" >&2; echo "$MCPORTER_KEEPALIVE$MCPORTER_DISABLE_KEEPALIVE"; exit 7`),
			Env:  append(os.Environ(), "MCPORTER_KEEPALIVE=x"), Config: []byte("{}\n"), Stdout: &out, Stderr: &out,
		})
		syscall.Umask(old)
		if err != nil || code != 7 {
			t.Fatalf("code %d, %v", code, err)
		}
		lines := strings.Split(out.String(), "\n")
		if lines[0] != "600" || lines[1] != "700" || lines[2] != "{}" {
			t.Errorf("umask %o: got %q", mask, lines)
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "/") {
				if _, err := os.Stat(l); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is still there", l)
				}
			}
		}
		if !strings.Contains(out.String(), "\n*\n") {
			t.Errorf("keep-alive is not switched off: %q", out.String())
		}
	}
}

// The group ends with the call: a server that outlives mcporter is killed.
func TestRunEndsTheGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	for name, body := range map[string]string{
		"the leader exits":  `sleep 60 >/dev/null 2>&1 & echo $! > ` + pidFile,
		"the clock ends it": `trap '' TERM; sleep 60 & echo $! > ` + pidFile + `; wait; sleep 60`,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		begun := time.Now()
		_, err := Run(ctx, Command{Argv: script(t, body), Env: os.Environ()})
		cancel()
		if name == "the clock ends it" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(begun); d > 6*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
		text, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		gone := false
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && !gone; time.Sleep(5 * time.Millisecond) {
			gone = ended(pid)
		}
		if !gone {
			t.Errorf("%s: the child %d is still there", name, pid)
		}
		os.Remove(pidFile)
	}
}

// ended reports whether a process is gone, or dead and waiting to be reaped by
// whoever adopted it.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

func TestMcporterIsNotTrusted(t *testing.T) {
	for _, c := range []struct{ name, body, reason string }{
		{"a good answer", `echo '{"a": 1}'`, ""},
		{"no answer and code 0", `exit 0`, "without an answer"},
		{"text instead of JSON", `echo 'Unknown MCP server'`, "not JSON"},
		{"a server's noise before the JSON", `echo 'boot failed'; echo '{}'; exit 1`, "it failed"},
		{"an error code", `echo '{"error": ""}'; exit 1`, "it failed"},
		{"never answers", `sleep 60`, "no answer within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := Mcporter{Argv: script(t, c.body), Env: os.Environ(), Config: []byte("{}")}
			got, err := m.Call(context.Background(), "srv.tool", []byte(`{}`), 50*time.Millisecond)
			var f *Failure
			switch {
			case c.reason == "" && (err != nil || string(got) != `{"a": 1}`):
				t.Errorf("got %s, %v", got, err)
			case c.reason != "" && (!errors.As(err, &f) || !strings.Contains(f.Reason, c.reason)):
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestArgumentsMustBeAnObject(t *testing.T) {
	for _, bad := range []string{"", "x", "[]", "1"} {
		if _, err := (Mcporter{Argv: []string{"/bin/false"}}).Call(context.Background(), "a.b", []byte(bad), time.Second); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
