package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// plainUser is who stands for an ordinary user where the bench is root's.
const plainUser = 65534

// bench is what every table gets: the programs, copied to a place that an
// ordinary user can read, and the folder all temporary files are below.
type bench struct {
	bin    string // folder of the product's programs and of the small ones to compare with
	self   string // this program
	node   string // real path
	suites string // folder with node_modules
	stage  string // removed at the end
	rounds int
	owner  bool // made the stage, and removes it
}

// newBench builds and copies what is needed. The caller is in a directory of
// the module, or was started by a bench that has done so.
func newBench(o options) (bench, error) {
	b := bench{rounds: o.rounds, stage: os.Getenv("BENCH_STAGE"), suites: os.Getenv("BENCH_SUITES")}
	node, err := exec.LookPath("node")
	if err != nil {
		return b, err
	}
	if b.node, err = filepath.EvalSymlinks(node); err != nil {
		return b, err
	}
	if b.stage != "" {
		b.bin, b.self = filepath.Join(b.stage, "bin"), filepath.Join(b.stage, "bin", "bench")
		return b, nil
	}
	if b.suites, err = filepath.Abs("test/node"); err != nil {
		return b, err
	}
	if b.stage, err = os.MkdirTemp("", "skill-mcp-bench-"); err != nil {
		return b, err
	}
	b.owner = true
	b.watch(o.within)
	if err := b.fill(o.bin); err != nil {
		b.close()
		return b, err
	}
	return b, os.Setenv("TMPDIR", filepath.Join(b.stage, "tmp"))
}

// watch ends the bench at a signal and when its time is over, and leaves
// nothing. What it started ends with it: servers at the end of their input,
// programs by PR_SET_PDEATHSIG.
func (b bench) watch(within time.Duration) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-c:
			fmt.Fprintln(os.Stderr, "bench: ended by", s)
		case <-time.After(within):
			fmt.Fprintln(os.Stderr, "bench: not done within", within)
		}
		go func() {
			time.Sleep(10 * time.Second) // a large tree may still be filled while it is removed
			os.Exit(1)
		}()
		b.close()
		os.Exit(1)
	}()
}

// fill makes the stage.
func (b *bench) fill(built string) error {
	b.bin, b.self = filepath.Join(b.stage, "bin"), filepath.Join(b.stage, "bin", "bench")
	for dir, mode := range map[string]os.FileMode{b.stage: 0o755, b.bin: 0o755, filepath.Join(b.stage, "tmp"): 0o777 | os.ModeSticky} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(dir, mode); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	copies := map[string]string{self: "bench"}
	for _, n := range []string{"skill-mcp", "skill-exec", "skill-egress"} {
		copies[filepath.Join(built, n)] = n
	}
	for from, name := range copies {
		if err := copyProgram(from, filepath.Join(b.bin, name)); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{
		"minimal": "skill-mcp/test/bench/minimal", "landlock-restrict": "github.com/landlock-lsm/go-landlock/cmd/landlock-restrict",
	} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(b.bin, name), path)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// close removes the stage.
func (b bench) close() {
	if b.owner {
		_ = os.RemoveAll(b.stage)
	}
}

func copyProgram(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}

// measure makes the tables of one measurement, as an ordinary user too where
// that matters and this process can become one.
func (b bench) measure(m measurement) ([]table, error) {
	tables, err := m.make(b)
	if err != nil || !m.plain || os.Getuid() != 0 {
		return tables, err
	}
	cmd := exec.Command(b.self, "-json", "-n", fmt.Sprint(b.rounds), "-only", m.name)
	cmd.Dir, cmd.Stderr = b.stage, os.Stderr
	cmd.Env = []string{pathOnly, "BENCH_STAGE=" + b.stage, "BENCH_SUITES=" + b.suites, "TMPDIR=" + filepath.Join(b.stage, "tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}, Pdeathsig: syscall.SIGTERM}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("as uid %d: %w", plainUser, err)
	}
	var plain []table
	if err := json.Unmarshal(out, &plain); err != nil {
		return nil, err
	}
	return append(tables, plain...), nil
}

// facts describe the machine without naming it.
func (b bench) facts() []string {
	first := func(argv ...string) string {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		line, _, _ := strings.Cut(string(out), "\n")
		if err != nil || line == "" {
			return "not here"
		}
		return line
	}
	model, memory := "unknown", "unknown"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name"); ok {
			model, _, _ = strings.Cut(strings.TrimLeft(rest, "\t: "), "\n")
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
		}
	}
	release := "unknown"
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		release, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-")
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:2], " and ")
	}
	return []string{
		fmt.Sprintf("%s, by %s with n = %d", time.Now().UTC().Format("2 January 2006"), runtime.Version(), b.rounds),
		fmt.Sprintf("%d cores of %s, %s of memory, Linux %s on %s; load at the end %s", runtime.NumCPU(), model, memory, release, runtime.GOARCH, load),
		fmt.Sprintf("node %s, %s, %s", first(b.node, "--version"), first("bwrap", "--version"), first("setpriv", "--version")),
	}
}

// pathOnly is the environment of every program that is measured.
const pathOnly = "PATH=/usr/local/bin:/usr/bin:/bin"

// errSlow is a program that did not end in time.
var errSlow = errors.New("did not end within a minute")

// bare starts a program with a clean environment and waits for it.
func bare(argv ...string) func() error {
	return func() error {
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = []string{pathOnly, "HOME=/nonexistent"}
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			return err
		}
		slow := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
		err := c.Wait()
		if !slow.Stop() {
			return fmt.Errorf("%s %w", argv[0], errSlow)
		}
		return err
	}
}
