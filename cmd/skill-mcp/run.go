package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"skill-mcp/internal/report"
)

// runFlags are what the run command was told.
type runFlags struct {
	yes, preview, asJSON bool
	digest               string
}

// newRunCommand runs one declared script for a person at a terminal.
func newRunCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SKILL SCRIPT [-- ARGS…]",
		Short: "Run one declared script, after the same preview and inside the same fence",
		Long: `Shows what would run, asks on the terminal, runs the script inside the fence and
streams its output. Nothing runs without an answer: where there is no terminal,
--yes approves only the bundle with the given digest, which --preview shows.

Exit codes: the script's own; 124 when its time was over, 128 and the signal's
number when a signal ended it; 1 refused or not approved; 2 a wrong command line.`,
		Example: `  skill-mcp run pdf scripts/fill.js -- form.pdf
  skill-mcp run pdf scripts/fill.js --preview --json
  skill-mcp run pdf scripts/fill.js --yes --digest 3f5a… -- form.pdf`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if f.yes && f.digest == "" {
				return errors.New("--yes needs --digest: an approval without a look is bound to the bundle that was looked at")
			}
			return runScript(c, f, args[0], args[1], args[2:])
		},
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask; needs --digest")
	c.Flags().StringVar(&f.digest, "digest", "", "approve only the bundle with this `SHA256`")
	c.Flags().BoolVar(&f.preview, "preview", false, "show what would run, and stop")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the preview or the result as JSON, and do not stream")
	return c
}

// previewed is the part of a preview that this command looks at.
type previewed struct {
	Preview struct {
		WillRun json.RawMessage
		Note    string
	}
	ConfirmToken string
}

// runScript previews, asks, runs.
func runScript(c *cobra.Command, f runFlags, skill, script string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends this at once
	defer stop()
	s, _, err := openSession(ctx, toRun)
	if err != nil {
		return err
	}
	defer s.close()
	call := map[string]any{"name": skill, "script": script, "args": args}
	text, refused, err := s.call(ctx, call)
	if err != nil || refused {
		return withCode(exitProblem, errors.Join(err, plainError(text)))
	}
	var p previewed
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	if f.preview && f.asJSON {
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", p.Preview.WillRun)
		return err
	}
	if err := showWillRun(c.ErrOrStderr(), p); err != nil || f.preview {
		return err
	}
	if err := approve(ctx, c, f, p); err != nil {
		return err
	}
	call["confirmToken"] = p.ConfirmToken
	show := newSpool(c.OutOrStdout(), c.ErrOrStderr())
	if !f.asJSON {
		s.runner.Watch(show.add)
	}
	text, refused, err = s.call(ctx, call)
	show.finish()
	if err != nil || refused {
		return withCode(exitProblem, errors.Join(err, plainError(text)))
	}
	return finish(c, f, text)
}

// plainError is a refusal of the server as an error; blank text is none.
func plainError(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(strings.ReplaceAll(text, "\n\n", "\n"))
}

// showWillRun prints what would run, for a person.
func showWillRun(w io.Writer, p previewed) error {
	var will struct {
		Skill, Interpreter, Cwd, Digest string
		Argv, EnvNames, EnvNotSet       []string
		TimeoutMs                       int64
		EnvWarning                      string
		Hosts, Reads, Writes            []string
		Home                            string
		Fence                           report.Fence
	}
	if err := json.Unmarshal(p.Preview.WillRun, &will); err != nil {
		return err
	}
	rows := [][]string{
		{"skill", will.Skill}, {"runs", will.Interpreter + " " + quoteAll(will.Argv)}, {"in", will.Cwd},
		{"time limit", fmt.Sprintf("%g s", float64(will.TimeoutMs)/1000)},
		{"variables", strings.Join(will.EnvNames, " ")}, {"network", will.Fence.Network},
	}
	for _, more := range []struct {
		name string
		list []string
	}{{"hosts", will.Hosts}, {"reads", will.Reads}, {"writes", will.Writes}} {
		if len(more.list) > 0 {
			rows = append(rows, []string{more.name, strings.Join(more.list, " ")})
		}
	}
	if will.Home != "" {
		rows = append(rows, []string{"home", will.Home})
	}
	rows = append(rows, []string{"digest", will.Digest})
	if len(will.EnvNotSet) > 0 {
		rows = append(rows, []string{"not set", strings.Join(will.EnvNotSet, " ")})
	}
	if will.EnvWarning != "" {
		rows = append(rows, []string{"warning", will.EnvWarning})
	}
	for _, l := range will.Fence.Layers {
		if l.Got != report.Enforced && l.Got != report.NotAsked {
			rows = append(rows, []string{"missing", strings.TrimSpace(string(l.Layer) + ": " + l.Reason)})
		}
	}
	newPrinter(w).table([]string{"what", "value"}, rows)
	return nil
}

// quoteAll shows an argument list so that its borders can be seen.
func quoteAll(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'$\`+"`", r) }) {
			a = fmt.Sprintf("%q", a)
		}
		out[i] = a
	}
	return strings.Join(out, " ")
}

// approve asks the person, or compares the digest that was given.
func approve(ctx context.Context, c *cobra.Command, f runFlags, p previewed) error {
	var will struct{ Digest string }
	if err := json.Unmarshal(p.Preview.WillRun, &will); err != nil {
		return err
	}
	if f.digest != "" && f.digest != will.Digest {
		return withCode(exitProblem, fmt.Errorf("not run: the bundle's digest is %s, not %s", will.Digest, f.digest))
	}
	if f.yes {
		return nil
	}
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return withCode(exitProblem, fmt.Errorf("not run: there is no terminal to ask on; --yes --digest %s approves this bundle", will.Digest))
	}
	fmt.Fprint(c.ErrOrStderr(), "Run it? [y/N] ")
	line, err := readLine(ctx, in)
	if a := strings.ToLower(strings.TrimSpace(line)); err != nil || (a != "y" && a != "yes") {
		if err != nil {
			fmt.Fprintln(c.ErrOrStderr()) // nobody ended the line of the question
		}
		return withCode(exitProblem, errors.New("not run: not approved"))
	}
	return nil
}

// readLine reads a line, or gives up with ctx: an interrupt is an answer too.
// Whoever waits for the terminal then ends with the process.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// exitTimeout is what timeout(1) exits with.
const exitTimeout = 124 // the time limit of the script ended it

// finish prints what is left to say and ends with the script's code.
func finish(c *cobra.Command, f runFlags, text string) error {
	var r struct {
		ExitCode    *int
		Signal      *string
		TimedOut    bool
		TimeoutMs   int64
		Verdict     report.Verdict
		NetworkNote string
		Truncated   struct{ Stdout, Stderr bool }
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	if f.asJSON {
		fmt.Fprintln(c.OutOrStdout(), text)
	} else {
		if r.Truncated.Stdout || r.Truncated.Stderr {
			fmt.Fprintln(c.ErrOrStderr(), "skill-mcp: output was cut at 1 MiB per stream")
		}
		if r.Verdict != report.Exited {
			fmt.Fprintln(c.ErrOrStderr(), "skill-mcp: the run ended by", r.Verdict)
		}
		if r.NetworkNote != "" {
			fmt.Fprintln(c.ErrOrStderr(), "skill-mcp:", printable(r.NetworkNote))
		}
	}
	switch {
	case r.TimedOut:
		return withCode(exitTimeout, nil)
	case r.ExitCode != nil:
		return withCode(*r.ExitCode, nil)
	case r.Signal != nil:
		return withCode(128+signalNumber(*r.Signal), nil)
	}
	return withCode(exitProblem, nil)
}
