package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/config"
	"skill-mcp/internal/specialist"
)

// newRootCommand wires every command; each lives in a file of its own.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "skill-mcp",
		Short: "Serve Agent Skills over MCP and run their scripts inside a fence",
		Long: `skill-mcp serves a directory of Agent Skills to MCP clients and runs the scripts
those skills declare, after a person approved them, inside a fence that is
proved on this machine.

Without a command it serves standard input and output, as clients expect.`,
		Example: `  skill-mcp                          serve stdio (what a client starts)
  skill-mcp doctor                   what the fence can do on this machine
  skill-mcp list                     what is served, and what is wrong
  skill-mcp run pdf scripts/fill.js  run one script, after asking`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       config.Version,
		Args:          noSuchCommand,
		RunE:          func(*cobra.Command, []string) error { return serve(config.HTTP{}) },
	}
	root.SetVersionTemplate("skill-mcp {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupServe, Title: "Serve:"},
		&cobra.Group{ID: groupLook, Title: "Look and run:"},
		&cobra.Group{ID: groupTrust, Title: "Policy and proof:"},
		&cobra.Group{ID: groupPackages, Title: "Packages:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupServe, newServeCommand(), newClientsCommand(), newConfigCommand(), newVersionCommand())
	add(groupLook, newListCommand(), newShowCommand(), newRunCommand(), newCheckCommand(), newUICommand())
	add(groupTrust, newDoctorCommand(), newPolicyCommand())
	add(groupPackages, newImportCommand(), newExportCommand(), newVerifyCommand(), newUninstallCommand(specialist.Users), newDepsCommand(), newConnectorCommand(),
		newSpecialistCommand())
	completeWords(root)
	root.SuggestionsMinimumDistance = 2 // letters that a misspelt command may differ in
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			c.Args = noSuchCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// noSuchCommand refuses a word that names no command. Cobra would print the
// help of a group and exit 0, so a misspelt check would pass for a good one.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = c.Root().SuggestionsMinimumDistance
	hint := c.CommandPath() + " --help lists the commands"
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q: %s", args[0], hint)
}

// The groups of the help text.
const (
	groupServe    = "serve"
	groupLook     = "look"
	groupTrust    = "trust"
	groupPackages = "packages"
)
