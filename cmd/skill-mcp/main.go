// Command skill-mcp serves a directory of Agent Skills over MCP and holds the
// owner's commands. Started without arguments it serves stdio: a short launch
// phase starts the helper and then becomes the front, which has no environment
// and no privilege.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"skill-mcp/internal/launch"
	_ "skill-mcp/internal/launch/early" // leaves before the rest is initialised
)

func main() { os.Exit(run(os.Args[1:])) }

// The exit codes of every command.
const (
	exitOK      = 0 // done, and nothing is wrong
	exitProblem = 1 // the command did its work and the answer is no
	exitUsage   = 2 // a mistake in the command line or the configuration
)

// run runs one command line and gives the exit code.
func run(args []string) int {
	if len(args) == 1 && args[0] == launch.FrontRole {
		return front()
	}
	root := newRootCommand()
	root.SetArgs(args)
	return exitCode(root.Execute())
}

// codedError ends a command with a code of its own. A nil cause prints nothing.
type codedError struct {
	code  int
	cause error
}

// Error gives the cause.
func (e *codedError) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

// Unwrap gives the cause.
func (e *codedError) Unwrap() error { return e.cause }

// withCode ends a command with code after printing err, which may be nil.
func withCode(code int, err error) error { return &codedError{code, err} }

// exitCode prints an error for a person and gives the code to exit with.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		lines := strings.Split(text, "\n") // what a skill's author wrote may be part of it
		fmt.Fprintln(os.Stderr, "skill-mcp:", strings.Join(clean(lines), "\n"))
	}
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitUsage
}
