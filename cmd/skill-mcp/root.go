package main

import (
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
		Args:          cobra.NoArgs,
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
	add(groupLook, newListCommand(), newShowCommand(), newRunCommand())
	add(groupTrust, newDoctorCommand(), newPolicyCommand())
	add(groupPackages, newImportCommand(), newExportCommand(), newVerifyCommand(), newUninstallCommand(specialist.Users), newDepsCommand(), newConnectorCommand(),
		newSpecialistCommand())
	return root
}

// The groups of the help text.
const (
	groupServe    = "serve"
	groupLook     = "look"
	groupTrust    = "trust"
	groupPackages = "packages"
)
