package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// program finds the built program.
func program(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "skill-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_FENCE") == "1" {
			t.Fatal("bin/skill-mcp is not built: run make")
		}
		t.Skip("not run: bin/skill-mcp is not built: run make")
	}
	return bin
}

// environment serves the skills of testdata.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	skills, err := filepath.Abs(filepath.Join("testdata", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "SKILLS_DIR=" + skills}, more...)
}

// screen is a terminal with one program on it.
type screen struct {
	t    *testing.T
	main *os.File
	cmd  *exec.Cmd
	done chan struct{} // everything was read

	mu   sync.Mutex
	said bytes.Buffer
}

// on starts the program on a terminal of a width.
func on(t *testing.T, width uint16, env []string, args ...string) *screen {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(main.Fd())
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}))
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	s := &screen{t: t, main: main, cmd: exec.Command(program(t), args...), done: make(chan struct{})}
	s.cmd.Env, s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = env, side, side, side
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	return s
}

// read keeps what is shown until the terminal has nobody on it any more.
func (s *screen) read() {
	defer close(s.done)
	b := make([]byte, 4096)
	for {
		n, err := s.main.Read(b)
		s.mu.Lock()
		s.said.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shown is what was shown until now, with plain line ends.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.said.String(), "\r\n", "\n")
}

// await waits until text is shown.
func (s *screen) await(text string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(s.shown(), text) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%q is not shown: %s", text, s.shown())
		}
		<-tick.C
	}
}

// press types on the terminal.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.main.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the program and gives what was shown and the exit code.
func (s *screen) end() (string, int) {
	s.t.Helper()
	late := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	s.cmd.Wait()
	<-s.done
	s.main.Close()
	return s.shown(), s.cmd.ProcessState.ExitCode()
}

// TestRunAsks: a person sees the preview, and only a yes runs the script, whose
// exit code is the command's.
func TestRunAsks(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		ran        bool
		code       int
	}{
		{"yes", "y\n", true, 7}, {"the whole word", "Yes\n", true, 7}, {"no", "n\n", false, 1}, {"nothing", "\n", false, 1},
		{"something else", "yep\n", false, 1}, {"an interrupt", "\x03", false, 1}, {"the end of the input", "\x04", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := on(t, 100, environment(t), "run", "exit", "scripts/exit.js", "--", "7")
			s.await("Run it? [y/N] ")
			s.press(c.keys)
			text, code := s.end()
			ran := strings.Contains(text, "to standard output") && strings.Contains(text, "to standard error")
			if code != c.code || ran != c.ran {
				t.Errorf("exit %d, want %d; it ran: %v\n%s", code, c.code, ran, text)
			}
			if !c.ran && !strings.Contains(text, "not run: not approved") {
				t.Errorf("it does not say that nothing ran: %s", text)
			}
			for _, want := range []string{"scripts/exit.js 7", "digest", "network", "reads", "/etc/ssl"} {
				if !strings.Contains(text, want) {
					t.Errorf("the preview has no %q: %s", want, text)
				}
			}
		})
	}
}

// piped runs the program without a terminal.
func piped(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(program(t), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestRunWithoutATerminal: nothing runs but the bundle whose digest was given.
func TestRunWithoutATerminal(t *testing.T) {
	env := environment(t)
	preview, _, code := piped(t, env, "run", "exit", "scripts/exit.js", "--preview", "--json", "--", "9")
	var will struct{ Digest string }
	if err := json.Unmarshal([]byte(preview), &will); err != nil || code != 0 || len(will.Digest) != 64 {
		t.Fatalf("%v: exit %d, %s", err, code, preview)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing is said", nil, 1, "--yes --digest " + will.Digest},
		{"yes alone", []string{"--yes"}, 2, "--yes needs --digest"},
		{"a digest alone", []string{"--digest", will.Digest}, 1, "no terminal"},
		{"another digest", []string{"--yes", "--digest", strings.Repeat("0", 64)}, 1, "not " + strings.Repeat("0", 64)},
		{"a part of the digest", []string{"--yes", "--digest", will.Digest[:12]}, 1, "not run"},
		{"the digest", []string{"--yes", "--digest", will.Digest}, 9, "to standard error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(append([]string{"run", "exit", "scripts/exit.js"}, c.args...), "--", "9")
			out, errs, code := piped(t, env, args...)
			if code != c.code || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, want %d; %q is not in %s", code, c.code, c.says, errs)
			}
			if ran := out == "to standard output\n"; ran != (c.code == 9) {
				t.Errorf("standard output is %q", out)
			}
		})
	}
}

// TestRunStreams: output is there when it is written, not at the end.
func TestRunStreams(t *testing.T) {
	s := on(t, 100, environment(t), "run", "exit", "scripts/slow.js")
	s.await("Run it? [y/N] ")
	s.press("y\n")
	s.await("the first words")
	if strings.Contains(s.shown(), "the last words") {
		t.Error("the first words came with the last")
	}
	if text, code := s.end(); code != 0 || !strings.Contains(text, "the last words") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestRunIsInterrupted: the script is ended, and the command says how.
func TestRunIsInterrupted(t *testing.T) {
	s := on(t, 100, environment(t), "run", "exit", "scripts/slow.js", "--", "60000")
	s.await("Run it? [y/N] ")
	s.press("y\n")
	s.await("the first words")
	s.press("\x03")
	if text, code := s.end(); code != 128+15 || !strings.Contains(text, "cancelled") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestRunIsAudited: an owner who wants an audit wants it of this command too.
func TestRunIsAudited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s := on(t, 100, environment(t, "MCP_SKILL_AUDIT="+path), "run", "exit", "scripts/exit.js", "--", "0")
	s.await("Run it? [y/N] ")
	s.press("y\n")
	if text, code := s.end(); code != 0 {
		t.Fatalf("exit %d: %s", code, text)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var e struct {
			Event           string
			PeakMemoryBytes int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "preview approval run" {
		t.Errorf("the audit has %q: %s", got, text)
	}
}

// looks are commands that only show something.
func looks() [][]string {
	return [][]string{{"list"}, {"show", "exit"}, {"config"}, {"policy", "show"}, {"policy", "explain", "exit"}, {"check", filepath.Join("testdata", "skills")}}
}

// TestNothingIsWiderThanTheTerminal holds for narrow and wide ones.
func TestNothingIsWiderThanTheTerminal(t *testing.T) {
	for _, width := range []uint16{24, 40, 80, 200} {
		for _, args := range looks() {
			text, code := on(t, width, environment(t, "NO_COLOR=1"), args...).end()
			if code != 0 || text == "" {
				t.Errorf("%v: exit %d, %q", args, code, text)
			}
			for _, line := range strings.Split(text, "\n") {
				if n := utf8.RuneCountInString(line); n > int(width) {
					t.Errorf("%v: %d columns in %d: %q", args, n, width, line)
				}
			}
		}
	}
}

// TestColourIsForTerminals: and not where NO_COLOR is set, the terminal is dumb
// or the output goes elsewhere.
func TestColourIsForTerminals(t *testing.T) {
	const escape = "\x1b"
	for _, args := range looks()[:5] {
		if text, _ := on(t, 100, environment(t), args...).end(); !strings.Contains(text, escape) {
			t.Errorf("%v: no colour on a terminal", args)
		}
		for _, no := range []string{"NO_COLOR=1", "TERM=dumb"} {
			if text, _ := on(t, 100, environment(t, no), args...).end(); strings.Contains(text, escape) {
				t.Errorf("%v: colour with %s", args, no)
			}
		}
		if out, errs, _ := piped(t, environment(t), args...); strings.Contains(out+errs, escape) || out == "" {
			t.Errorf("%v: %q", args, out)
		}
	}
}
