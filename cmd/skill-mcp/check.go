package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"skill-mcp/internal/check"
	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/launch"
)

// checkFlags are what the check command was told.
type checkFlags struct{ asJSON, asSARIF, strict bool }

// newCheckCommand looks at skills for their authors.
func newCheckCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check DIR…",
		Short: "Check skills for their authors: contract, portability, dependencies, syntax",
		Long: `Each DIR is a skill or a folder of skills. Looks at the contract of this server,
the Agent Skills specification, the mcp-host block, the files of the declared
scripts, agents/openai.yaml, and the syntax of node's scripts. For the last,
node --check runs inside the fence; it parses a script and runs nothing of it.
Where there is no helper or no fence, the syntax is reported as not checked.
A path is always followed by a line and a column; 1:1 is the whole file.

Levels (code in brackets after each finding):
` + levelsText() + `
  A key that is not known, and a time limit above the most, are warnings of
  declaration. Codes that begin with dependency. are errors of agents/openai.yaml.

Exit codes: 0 no error, 1 an error (with --strict: or a warning), 2 a wrong
command line. What could not be checked does not change the exit code.`,
		Example: `  skill-mcp check skills
  skill-mcp check --strict skills/pdf
  skill-mcp check --sarif . > check.sarif`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			if f.asJSON && f.asSARIF {
				return errors.New("--json and --sarif exclude each other")
			}
			return checkDirs(c, f, dirs)
		},
	}
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&f.asSARIF, "sarif", false, "print SARIF 2.1.0, for code scanning")
	c.Flags().BoolVar(&f.strict, "strict", false, "warnings fail too")
	return c
}

// levelsText lists the codes by level, wrapped for the help.
func levelsText() string {
	codes := map[check.Level][]string{}
	for _, r := range check.Rules() {
		codes[r.Level] = append(codes[r.Level], r.Code)
	}
	var b strings.Builder
	for _, l := range []check.Level{check.Error, check.Warning} {
		for i, line := range wrap(strings.Join(codes[l], ", "), 66) {
			label := ""
			if i == 0 {
				label = string(l)
			}
			fmt.Fprintf(&b, "  %-8s %s\n", label, line)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// checkDirs checks and prints.
func checkDirs(c *cobra.Command, f checkFlags, dirs []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	base, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real // findings have real paths
	}
	o := check.Options{Reserved: grant.Reserved}
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return fmt.Errorf("find %q: %w", d, err)
		}
		o.Dirs = append(o.Dirs, abs)
	}
	var fence *check.Fence
	if cfg, _, err := launch.Assemble(os.LookupEnv, launch.Options{Roots: o.Dirs}); err != nil {
		fence = check.Closed("the policy cannot be used: " + err.Error())
	} else {
		fence, o.Interpreters = check.NewFence(cfg.Policy, o.Dirs, config.Version), cfg.Policy.Names()
	}
	defer fence.Close()
	o.Syntax = fence
	r := check.Run(ctx, o)
	if err := ctx.Err(); err != nil {
		return withCode(130, fmt.Errorf("check: %w", err)) // as a shell reports an interrupt
	}
	switch {
	case f.asJSON:
		err = writeJSON(c.OutOrStdout(), r)
	case f.asSARIF:
		err = writeJSON(c.OutOrStdout(), r.SARIF(base, config.Version))
	default:
		printCheck(c.OutOrStdout(), c.ErrOrStderr(), base, r)
	}
	if err != nil || !r.Failed(f.strict) {
		return err
	}
	return withCode(exitProblem, nil)
}

// printCheck prints a line for each finding, in the form that editors follow,
// and what was not checked, one line for each reason.
func printCheck(w, notes io.Writer, base string, r check.Report) {
	p, aside := newPrinter(w), newPrinter(notes)
	for _, f := range r.Findings {
		color := colorWarn
		if f.Level == check.Error {
			color = colorBad
		}
		level := string(f.Level) + ":"
		p.paragraph(fmt.Sprintf("%s:%d:%d: %s %s (%s)", check.Shown(base, f.Path), max(f.Line, 1), max(f.Column, 1), level, f.Message, f.Code), level, color)
	}
	count := map[string]int{}
	for _, n := range r.NotChecked {
		count[n.What+n.Reason]++
	}
	for _, n := range r.NotChecked {
		key := n.What + n.Reason
		switch count[key] {
		case 0: // said already
		case 1:
			aside.paragraph(fmt.Sprintf("%s: %s not checked: %s", check.Shown(base, n.Path), n.What, n.Reason), "not checked", colorWarn)
		default:
			aside.paragraph(fmt.Sprintf("%s not checked in %d files: %s", n.What, count[key], n.Reason), "not checked", colorWarn)
		}
		count[key] = 0
	}
	p.paragraph(fmt.Sprintf("%s, %s, %s", plural(r.Skills, "skill"), plural(r.Errors, "error"), plural(r.Warnings, "warning")), "", "")
}

// plural counts things in words.
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
