package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/doctor"
	"skill-mcp/internal/report"
)

// newDoctorCommand examines this machine.
func newDoctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Prove on this machine what the fence does, layer by layer",
		Long: `Starts the helper as the server does and runs probe scripts through it: for each
layer something that must work and something that must be refused. Prints what
holds, and for what does not the one thing that would enable it.

Exit codes: 0 every layer that the policy requires is proved, 1 one is not, 2 a
wrong command line or configuration.`,
		Example: `  skill-mcp doctor
  skill-mcp doctor --json
  MCP_SKILL_POLICY=strict skill-mcp doctor`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			r, err := doctor.Run(ctx, os.LookupEnv)
			if err != nil {
				return err
			}
			if asJSON {
				err = encodeJSON(c.OutOrStdout(), r)
			} else {
				printDoctor(newPrinter(c.OutOrStdout()), r)
			}
			if err != nil || r.Proved {
				return err
			}
			return withCode(exitProblem, nil)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printDoctor prints the examination for a person.
func printDoctor(p *printer, r doctor.Report) {
	p.paragraph(fmt.Sprintf("policy %s, network %s, %s, %s", r.Policy, r.Network, r.System, r.User), "", "")
	for _, i := range r.Interpreters {
		p.paragraph(interpreterLine(i.Name, i.Path, i.Version, i.Reason), "cannot run", colorBad)
	}
	var rows [][]string
	for _, row := range r.Layers {
		rows = append(rows, []string{string(row.Layer), string(row.Want), gotText(row), row.Level, saying(row)})
	}
	p.table([]string{"layer", "policy", "here", "level", "seen, or how to enable"}, rows)
	for _, n := range r.Notes {
		p.paragraph("note: "+n, "note:", colorHead)
	}
	if r.Proved {
		p.paragraph("Every required layer is proved on this machine.", "proved", colorGood)
		return
	}
	p.paragraph("Not proved: "+strings.Join(unproved(r), ", ")+".", "Not proved:", colorBad)
}

// interpreterLine names one entry of the closed set.
func interpreterLine(name, path, version, reason string) string {
	if reason != "" {
		return name + ": cannot run here: " + printable(reason)
	}
	return strings.TrimRight(fmt.Sprintf("%s: %s %s", name, path, version), " ")
}

// gotText says what holds and whether an attack was seen to fail.
func gotText(row doctor.Row) string {
	if row.Got == report.Enforced && row.Proved {
		return "proved"
	}
	return string(row.Got)
}

// saying is the last column: what was seen, or what would help.
func saying(row doctor.Row) string {
	parts := []string{}
	if row.Reason != "" {
		parts = append(parts, row.Reason)
	}
	if row.Remedy != "" {
		parts = append(parts, "to enable: "+row.Remedy)
	}
	if len(parts) == 0 {
		return row.Witness
	}
	return strings.Join(parts, "; ")
}

// unproved names the required layers that are not proved.
func unproved(r doctor.Report) []string {
	out := []string{}
	for _, row := range r.Layers {
		if row.Want == report.Require && (row.Got != report.Enforced || !row.Proved) {
			out = append(out, string(row.Layer))
		}
	}
	if len(out) == 0 {
		out = append(out, "the policy requires nothing, and the probes did not run")
	}
	return out
}
