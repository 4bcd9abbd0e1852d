package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// newUninstallCommand removes an imported skill. users says who refers to a
// skill and may be nil.
func newUninstallCommand(users func(*store.Store) pack.Users) *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "uninstall SKILL",
		Short: "Remove an imported skill",
		Long: `Removes an imported skill and all its files. Refused for skills that were not
imported, that come with the product, or that a specialist uses.

Exit codes: 0 removed, 1 refused, 2 a mistake in the command line.`,
		Example: `  skill-mcp uninstall pdf`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, into, err := f.places()
			if err != nil {
				return err
			}
			s, err := store.Open(dir)
			if err != nil {
				return withCode(exitProblem, err)
			}
			defer s.Close()
			var ask pack.Users
			if users != nil {
				ask = users(s)
			}
			if err := pack.Uninstall(c.Context(), s, into, args[0], ask); err != nil {
				return f.refusal(c, err)
			}
			if f.asJSON {
				return answer(c.OutOrStdout(), map[string]string{"removed": args[0]})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: removed\n", archive.Shown(args[0]))
			return err
		},
	}
	f.add(c)
	return c
}
