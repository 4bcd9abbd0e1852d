// Package interp resolves the closed set of interpreters: where each is, which
// files it needs to start, which version it has, whether the policy takes it.
//
// It chooses nothing: the policy names the set and the monitor what runs.
package interp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"skill-mcp/internal/beneath"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/wire"
)

// versionWait bounds `--version`: node answers in 20 ms, a cold disk in one
// second; whatever takes longer is not an interpreter.
const versionWait = 5 * time.Second

// Interpreter is one entry of the closed set, looked up once. Its program is
// complete when the constructor returns; version and reason when known is
// closed, some time after ask.
type Interpreter struct {
	entry    policy.Interpreter
	path     string
	writable []string // folders that scripts may write
	prog     spawn.Program

	known   chan struct{}
	version string
	reason  string // why it cannot run
	short   bool   // of descriptors or processes, while it was looked up
}

// New resolves an entry on the server's PATH. A program below a folder that
// scripts may write is refused: they could put another in its place, which would
// be asked for its version outside the fence.
func New(entry policy.Interpreter, path string, writable []string) *Interpreter {
	i := &Interpreter{entry: entry, path: path, writable: writable, known: make(chan struct{})}
	var err error
	if i.prog, err = resolve(entry, path, writable); err != nil {
		i.reason = err.Error()
	}
	i.short = short()
	return i
}

// Again looks an interpreter up anew that was looked up while this process was
// short of descriptors or processes: what was found then may lack a library,
// and the want passes. started is as for Ask.
func (i *Interpreter) Again(started func(pid int)) {
	select {
	case <-i.known:
	default:
		return // it is being asked
	}
	if i.short {
		i.Close()
		*i = *New(i.entry, i.path, i.writable)
		i.Ask(started)
	}
}

// short reports whether this process has no room for a handful of descriptors.
func short() bool {
	const handful = 8
	for range handful {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return true
		}
		defer f.Close()
	}
	return false
}

// Ask starts the question for the version and does not wait for the answer.
// started is told the pid of the child that answers. A pinned program is read
// first, and not started at all when it is another one: the question is asked
// outside the fence. State waits for pinned programs anyway.
func (i *Interpreter) Ask(started func(pid int)) {
	if i.reason == "" {
		i.reason = checkPin(i.prog.File, i.entry.SHA256)
	}
	if i.reason != "" {
		close(i.known)
		return
	}
	answer, err := askVersion(i.prog.Path, started)
	i.short = i.short || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM)
	go func() {
		defer close(i.known)
		i.version = answer()
		i.reason = i.entry.Accepts(i.version)
	}()
}

// Name is what a declaration calls it.
func (i *Interpreter) Name() string { return i.entry.Name }

// Program is what the fence needs to start it. Precondition: it can run.
func (i *Interpreter) Program() spawn.Program { return i.prog }

// State describes the entry. What the policy does not bound is not waited for.
func (i *Interpreter) State(wait bool) wire.Interpreter {
	s := wire.Interpreter{Name: i.entry.Name, Path: i.prog.Path}
	if !wait && i.entry.MinVersion == "" && i.entry.MaxVersion == "" && i.entry.SHA256 == "" {
		select {
		case <-i.known:
		default:
			return s
		}
	}
	<-i.known // at most versionWait and the reading of one file
	s.Version, s.Reason = i.version, i.reason
	return s
}

// Close gives the descriptor back.
func (i *Interpreter) Close() {
	if i.prog.File != nil {
		_ = i.prog.File.Close()
	}
}

// resolve finds the program, opens it once and computes what it reads.
func resolve(entry policy.Interpreter, path string, writable []string) (spawn.Program, error) {
	p := spawn.Program{Name: entry.Name, Args: entry.Args, Env: entry.Env}
	var err error
	if entry.Path != "" {
		p.Path, p.File, err = openProgram(entry.Path, writable)
	} else {
		p.Path, p.File, err = search(entry.Name, path, writable)
	}
	if err != nil {
		return spawn.Program{}, err
	}
	p.Read = append(libraries(p.Path, extensions(entry.Name, p.Path)), prefixReads(entry.Name, p.Path)...)
	for _, r := range entry.Read {
		p.Read = append(p.Read, r.Path)
	}
	return p, nil
}

// search goes through a PATH. A shim of a version manager is a script that
// needs the state of a home directory which no run has, so it is passed over.
func search(name, path string, writable []string) (string, *os.File, error) {
	if filepath.Base(name) != name {
		return "", nil, fmt.Errorf("interpreter name %q is a path; give it as the policy's path", name)
	}
	var first error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // "" and "." would take a program from wherever the server was started
		}
		real, f, err := openProgram(filepath.Join(dir, name+ExeSuffix), writable)
		if err == nil {
			return real, f, nil
		}
		if first == nil && !errors.Is(err, os.ErrNotExist) {
			first = err
		}
	}
	if first != nil {
		return "", nil, first
	}
	return "", nil, fmt.Errorf("%s is not on the server's PATH; install it or give its path in the policy", name)
}

// openProgram opens a regular, executable, native program at its real path.
func openProgram(path string, writable []string) (string, *os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	if tree := beneath.Crosses(path, writable); tree != "" {
		return "", nil, fmt.Errorf("%s can be replaced by scripts, which may write %s; install it elsewhere", path, tree)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", nil, err
	}
	if !info.Mode().IsRegular() || (ExeSuffix == "" && info.Mode()&0o111 == 0) {
		return "", nil, fmt.Errorf("%s is not an executable file", real)
	}
	f, err := os.Open(real)
	if err != nil {
		return "", nil, err
	}
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil || string(head) == "#!" {
		_ = f.Close()
		return "", nil, fmt.Errorf("%s is a script (a version manager's shim), not the program; give the program's path in the policy", real)
	}
	_, err = f.Seek(0, io.SeekStart)
	return real, f, err
}

// checkPin compares a program with the policy's digest of it.
func checkPin(f *os.File, pin string) string {
	if pin == "" {
		return ""
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Sprintf("read it for the policy's pin: %v", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != pin {
		return fmt.Sprintf("its sha256 is %s and the policy pins %s", got, pin)
	}
	return ""
}

// askVersion runs the program with --version and nothing of the environment,
// and returns what waits for its answer. Any failure leaves the version unknown;
// err is why it could not be started.
func askVersion(path string, started func(pid int)) (answer func() string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), versionWait)
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{}
	cmd.Dir = string(filepath.Separator)
	var out bytes.Buffer
	cmd.Stdout = &limited{&out, 4 << 10}
	cmd.WaitDelay = time.Second // a child that left its pipe to another
	if err := cmd.Start(); err != nil {
		cancel()
		return func() string { return "" }, err
	}
	started(cmd.Process.Pid)
	return func() string {
		defer cancel()
		if cmd.Wait() != nil {
			return ""
		}
		return firstNumber(out.String())
	}, nil
}

// limited keeps the first n bytes of what is written and drops the rest.
type limited struct {
	to *bytes.Buffer
	n  int
}

// Write never fails, so that the writer is not disturbed.
func (l *limited) Write(p []byte) (int, error) {
	l.to.Write(p[:min(len(p), l.n-l.to.Len())])
	return len(p), nil
}

// firstNumber returns the first dotted number of a text, "" when there is none.
func firstNumber(s string) string {
	const digits = "0123456789"
	start := strings.IndexAny(s, digits)
	if start < 0 {
		return ""
	}
	end := start + len(s[start:]) - len(strings.TrimLeft(s[start:], digits+"."))
	return strings.Trim(s[start:end], ".")
}

// extensions are the native modules in an interpreter's standard library, which
// have libraries of their own (sqlite3 and ssl of Python).
func extensions(name, program string) []string {
	if name != "python3" {
		return nil
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(program)), "lib/python3*/lib-dynload/*.so")) // only a malformed pattern fails
	return found
}

// prefixReads gives what an interpreter loads from its installation prefix
// beside its own file, as far as it exists: global modules, and the built-in
// modules that distribution builds keep outside the binary.
func prefixReads(name, program string) []string {
	prefix := filepath.Dir(filepath.Dir(program))
	patterns := map[string][]string{
		"node":    {"lib/node_modules", "share/nodejs", "share/node_modules", "lib/x86_64-linux-gnu/nodejs", "lib/aarch64-linux-gnu/nodejs"},
		"python3": {"lib/python3*", "lib/libpython3*", "local/lib/python3*"},
	}
	var out []string
	for _, p := range patterns[name] {
		found, _ := filepath.Glob(filepath.Join(prefix, p)) // only a malformed pattern fails
		out = append(out, found...)
	}
	return out
}
