package deps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Mcporter runs the real mcporter with a clock of its own. Version 0.12.3
// ignores its timeout when a server never answers and then ends with code 0
// and no output, so neither its clock nor its exit code is trusted alone.
type Mcporter struct {
	Argv   []string // how mcporter is started, e.g. {"mcporter"}
	Env    []string // NAME=value
	Config []byte
}

// beyond is how much longer than mcporter's own timeout is waited for it.
const beyond = 3 * time.Second

// maxAnswer bounds what is kept of an answer; official clients stop at 10 MiB.
const maxAnswer = 8 << 20

// Failure is a call that did not give a usable answer.
type Failure struct {
	What   string // e.g. call srv.tool
	Reason string
	Code   int    // exit code of mcporter, -1 when it was killed
	Stdout string // what it said, cut
	Stderr string
}

// Error says what failed and why, with what mcporter said.
func (f *Failure) Error() string {
	said := strings.TrimSpace(f.Stderr)
	if said == "" {
		said = strings.TrimSpace(f.Stdout)
	}
	if said != "" {
		said = ": " + said
	}
	return fmt.Sprintf("mcporter %s: %s (exit code %d)%s", f.What, f.Reason, f.Code, said)
}

// Call calls a tool with the JSON object in arguments and returns the JSON that
// mcporter printed. Arguments go through a regular file: a pipe of more than
// 64 KiB fails (measured).
func (m Mcporter) Call(ctx context.Context, tool string, arguments []byte, timeout time.Duration) (json.RawMessage, error) {
	if !json.Valid(arguments) || !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return nil, errors.New("the arguments are not a JSON object")
	}
	in, err := os.CreateTemp("", "skill-mcp-arguments-") // 0600
	if err != nil {
		return nil, fmt.Errorf("write the arguments: %w", err)
	}
	defer os.Remove(in.Name())
	defer in.Close()
	if _, err := in.Write(arguments); err != nil {
		return nil, fmt.Errorf("write the arguments: %w", err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return m.run(ctx, "call "+tool, in, timeout, "call", tool, "--json", "-", "--output", "json", "--no-oauth")
}

// Schema returns mcporter's description of one tool, or of a whole server.
func (m Mcporter) Schema(ctx context.Context, tool string, timeout time.Duration) (json.RawMessage, error) {
	return m.run(ctx, "list "+tool, nil, timeout, "list", tool, "--schema", "--json")
}

// run starts mcporter and checks both the code and that the output is JSON.
func (m Mcporter) run(ctx context.Context, what string, in *os.File, timeout time.Duration, args ...string) (json.RawMessage, error) {
	if len(m.Argv) == 0 {
		return nil, errors.New("no mcporter is named")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+beyond)
	defer cancel()
	out, errs := &capped{most: maxAnswer}, &capped{most: 4096}
	argv := append(append([]string{}, m.Argv...), args...)
	argv = append(argv, "--timeout", strconv.FormatInt(timeout.Milliseconds(), 10))
	code, err := Run(ctx, Command{Argv: argv, Env: m.Env, Config: m.Config, Stdin: in, Stdout: out, Stderr: errs})
	fail := func(reason string) error {
		return &Failure{What: what, Reason: reason, Code: code, Stdout: cut(out.String(), 4096), Stderr: errs.String()}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fail(fmt.Sprintf("no answer within %s", timeout+beyond))
	case err != nil:
		return nil, err
	case code != 0:
		return nil, fail("it failed")
	case out.over:
		return nil, fail(fmt.Sprintf("the answer has more than %d bytes", maxAnswer))
	case len(bytes.TrimSpace(out.Bytes())) == 0:
		return nil, fail("it ended without an answer")
	case !json.Valid(out.Bytes()):
		return nil, fail("the answer is not JSON")
	}
	return json.RawMessage(bytes.TrimSpace(out.Bytes())), nil
}

// capped keeps the first bytes and counts on.
type capped struct {
	bytes.Buffer
	most int
	over bool
}

// Write never fails, so that the program is not ended by a full pipe.
func (c *capped) Write(p []byte) (int, error) {
	room := c.most - c.Len()
	if len(p) > room {
		c.over = true
		c.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

// cut shortens text for a message.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Find gives the command line of mcporter: the given path, else the program of
// that name on the search path.
func Find(path string) ([]string, error) {
	if path != "" {
		return []string{path}, nil
	}
	p, err := exec.LookPath("mcporter")
	if err != nil {
		return nil, errors.New("mcporter is not installed: npm install -g mcporter@0.12.3, or name it with --mcporter")
	}
	return []string{p}, nil
}
