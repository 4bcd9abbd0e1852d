package deps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Command is one program run with the configuration of a union.
type Command struct {
	Argv   []string
	Env    []string // NAME=value; MCPORTER_CONFIG and the switches are added
	Config []byte
	Stdin  *os.File // nil = nothing
	Stdout io.Writer
	Stderr io.Writer
}

// grace is how long a program may take to end after it was asked to.
const grace = 2 * time.Second

// Run writes the configuration into a private folder, runs the command in a
// process group of its own and removes everything whatever happens. When ctx
// ends the group is asked to end and killed after a grace period. What the
// group leaves behind when its leader is gone is killed too: a server must not
// outlive the program that started it. The exit code is -1 when a signal ended
// the leader.
func Run(ctx context.Context, c Command) (code int, err error) {
	if len(c.Argv) == 0 {
		return 0, errors.New("no command is given")
	}
	dir, err := os.MkdirTemp("", "skill-mcp-deps-") // 0700, an unguessable name
	if err != nil {
		return 0, fmt.Errorf("make a private folder for the configuration: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcporter.json")
	if err := writePrivate(path, c.Config); err != nil {
		return 0, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = environment(c.Env, path)
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	cmd.WaitDelay = grace // an orphan that holds a pipe does not hold the call
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		endGroup(cmd.Process, false)
		select {
		case err = <-done:
		case <-time.After(grace):
			endGroup(cmd.Process, true)
			err = <-done
		}
	}
	endGroup(cmd.Process, true)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	return cmd.ProcessState.ExitCode(), ctx.Err()
}

// writePrivate creates a file that only its owner can read, whatever the umask.
func writePrivate(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if _, err := f.Write(text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return f.Close()
}

// environment is env with the run's configuration and switches.
func environment(env []string, config string) []string {
	set, drop := Environment()
	set["MCPORTER_CONFIG"] = config
	gone := map[string]bool{}
	for _, n := range drop {
		gone[n] = true
	}
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if _, replaced := set[name]; !replaced && !gone[name] {
			out = append(out, pair)
		}
	}
	for _, n := range sortedKeys(set) {
		out = append(out, n+"="+set[n])
	}
	return out
}
