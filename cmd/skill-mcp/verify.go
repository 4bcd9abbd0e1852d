package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
)

// newVerifyCommand compares imported skills with what was installed.
func newVerifyCommand() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "verify [SKILL...]",
		Short: "Compare imported skills with what was installed",
		Long: `Reads imported skills again and compares them with what was recorded when they
were imported, file by file. Without a name it takes all of them.

Exit codes: 0 all are as they were installed, 1 at least one is not, 2 a
mistake in the command line.`,
		Example: `  skill-mcp verify
  skill-mcp verify pdf --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.recoverFirst(c.Context()); err != nil {
				return err
			}
			_, into, err := f.places()
			if err != nil {
				return err
			}
			found, err := pack.Verify(c.Context(), into, args)
			if err != nil {
				return f.refusal(c, err)
			}
			return showVerified(c, &f, found)
		},
	}
	f.add(c)
	return c
}

func showVerified(c *cobra.Command, f *packageFlags, found []pack.Verified) error {
	bad := 0
	for i := range found {
		if found[i].Condition != pack.ConditionIntact {
			bad++
		}
		if !f.asJSON {
			printVerified(c.OutOrStdout(), &found[i])
		}
	}
	if f.asJSON {
		if err := answer(c.OutOrStdout(), map[string]any{"skills": found}); err != nil {
			return err
		}
	}
	if len(found) == 0 && !f.asJSON {
		fmt.Fprintln(c.ErrOrStderr(), "no skill was imported")
	}
	if bad > 0 {
		return withCode(exitProblem, fmt.Errorf("%d of %d skills are not as they were installed", bad, len(found)))
	}
	return nil
}

func printVerified(w io.Writer, v *pack.Verified) {
	fmt.Fprintf(w, "%s: %s", archive.Shown(v.ID), v.Condition)
	if v.URL != "" {
		fmt.Fprintf(w, ", from %s", archive.Shown(v.URL))
	}
	if v.Message != "" {
		fmt.Fprintf(w, ": %s", v.Message)
	}
	fmt.Fprintln(w)
	printChanges(w, v.Edits)
}
