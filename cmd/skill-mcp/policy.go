package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/policyfile"
	shipped "skill-mcp/policy"
)

// newPolicyCommand holds the commands for the owner's policy.
func newPolicyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show, check and explain the policy that scripts run under",
		Long: `A policy says which layers of the fence a run must have, which interpreters exist,
what may be read, written and reached, and how much of the machine may be used.

MCP_SKILL_POLICY names a shipped one (hosted, standalone, portable, strict) or an
owner's file by its absolute path. In hosted mode a file can only narrow what is
shipped.

Exit codes: 0 good, 1 the policy has mistakes, 2 a wrong command line.`,
		Example: `  skill-mcp policy show                    what holds here
  skill-mcp policy show --source hosted    a shipped file, to begin one's own
  skill-mcp policy check ./acme.yaml       every mistake, with line and column
  skill-mcp policy explain pdf             what the skill pdf gets, and why`,
	}
	c.AddCommand(newPolicyShowCommand(), newPolicyCheckCommand(), newPolicyExplainCommand())
	return c
}

// policyView is a policy as JSON for machines.
type policyView struct {
	Policy string       `json:"policy"`
	File   string       `json:"file,omitempty"`  // the owner's file
	Skill  string       `json:"skill,omitempty"` // explain SKILL
	Rows   []policy.Row `json:"rows"`
	Notes  []string     `json:"notes"` // what hosted mode does not give
}

// policyOptions reads what the choice of a policy depends on.
func policyOptions(look grant.Lookup) policyfile.Options {
	f := config.Read(config.Input{Look: look, Dir: "/"})
	choice, _ := grant.Read(look, "MCP_SKILL_POLICY")
	return policyfile.Options{
		Choice: choice, Hosted: f.Hosted, Linux: runtime.GOOS == "linux", ProxySet: f.ProxySet, Owners: []int{os.Getuid()},
	}
}

// viewOf explains a loaded policy row by row.
func viewOf(l policyfile.Loaded) policyView {
	v := policyView{Policy: l.Policy.Name, File: l.File, Rows: policy.Explain(l.Policy, l.Sources), Notes: l.Notes}
	if v.Notes == nil {
		v.Notes = []string{}
	}
	return v
}

// loadPolicy reads the policy of the environment, or the named one in its place.
func loadPolicy(args []string) (policyfile.Loaded, error) {
	o := policyOptions(os.LookupEnv)
	if len(args) == 1 {
		o.Choice = args[0]
	}
	l, err := policyfile.Load(o)
	if err != nil {
		return l, withCode(exitProblem, err)
	}
	return l, nil
}

func newPolicyShowCommand() *cobra.Command {
	var asJSON, source bool
	c := &cobra.Command{
		Use:   "show [NAME|FILE]",
		Short: "Show the policy in force and where each row came from",
		Long: `Shows each row of a policy with its value and its origin: a shipped policy, a line
of the owner's file, or a default. Without a name it is the policy in force here.`,
		Example: `  skill-mcp policy show
  skill-mcp policy show strict
  skill-mcp policy show --source standalone > acme.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if source {
				return showSource(c.OutOrStdout(), args)
			}
			l, err := loadPolicy(args)
			if err != nil {
				return err
			}
			v := viewOf(l)
			if asJSON {
				return encodeJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "policy %s\n", v.Policy)
			var rows [][]string
			for _, r := range v.Rows {
				rows = append(rows, []string{r.Key, r.Value, r.Origin})
			}
			newPrinter(c.OutOrStdout()).table([]string{"row", "value", "from"}, rows)
			printNotes(c.ErrOrStderr(), v.Notes)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&source, "source", false, "print the text of a shipped policy")
	c.MarkFlagsMutuallyExclusive("json", "source")
	return c
}

// showSource prints a shipped policy as it is written, comments included.
func showSource(w io.Writer, args []string) error {
	name := policyfile.Default(policyOptions(os.LookupEnv).Hosted, runtime.GOOS == "linux")
	if len(args) == 1 {
		name = args[0]
	}
	if _, err := policyfile.Shipped(name); err != nil {
		return err
	}
	text, _ := shipped.Text(name)
	_, err := w.Write(text)
	return err
}

// printNotes says what a file asked for and did not get.
func printNotes(w io.Writer, notes []string) {
	for _, n := range notes {
		newPrinter(w).paragraph("not given in hosted mode: "+n, "not given", colorWarn)
	}
}

func newPolicyCheckCommand() *cobra.Command {
	var asJSON, hosted bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check an owner's policy file and report every mistake",
		Long:  "Reports every mistake of a file at once, with line and column, and uses nothing of it.",
		Example: `  skill-mcp policy check ./acme.yaml
  skill-mcp policy check --hosted --json ./acme.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o := policyOptions(os.LookupEnv)
			o.Hosted = o.Hosted || hosted
			l, err := policyfile.Check(args[0], o)
			if asJSON {
				return checkJSON(c.OutOrStdout(), args[0], l, err)
			}
			if err != nil {
				return withCode(exitProblem, err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: good; the policy in force would be %s\n", args[0], l.Policy.Name)
			printNotes(c.ErrOrStderr(), l.Notes)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&hosted, "hosted", false, "as a hosted server would take it")
	return c
}

// checkJSON prints the outcome of a check for machines.
func checkJSON(w io.Writer, file string, l policyfile.Loaded, err error) error {
	out := struct {
		File     string               `json:"file"`
		OK       bool                 `json:"ok"`
		Policy   string               `json:"policy,omitempty"`
		Problems []policyfile.Problem `json:"problems"`
		Notes    []string             `json:"notes"`
	}{File: file, OK: err == nil, Policy: l.Policy.Name, Problems: []policyfile.Problem{}, Notes: append([]string{}, l.Notes...)}
	var problems *policyfile.Problems
	switch {
	case errors.As(err, &problems):
		out.Problems = problems.List
	case err != nil:
		out.Problems = append(out.Problems, policyfile.Problem{Text: err.Error()})
	}
	if e := encodeJSON(w, out); e != nil || err == nil {
		return e
	}
	return withCode(exitProblem, nil)
}

func newPolicyExplainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain [SKILL]",
		Short: "Explain what is allowed and why, for all skills or for one",
		Long: `Shows each row of the policy in force with its reason. With the name of a skill it
shows what holds for that skill's runs.`,
		Example: `  skill-mcp policy explain
  skill-mcp policy explain pdf --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := loadPolicy(nil)
			if err != nil {
				return err
			}
			v := viewOf(l)
			if len(args) == 1 {
				v.Skill, v.Rows = args[0], l.Policy.SkillRows(v.Rows, args[0])
			}
			if asJSON {
				return encodeJSON(c.OutOrStdout(), v)
			}
			var rows [][]string
			for _, r := range v.Rows {
				rows = append(rows, []string{r.Key, r.Value, r.Origin, r.Why})
			}
			newPrinter(c.OutOrStdout()).table([]string{"row", "value", "from", "why"}, rows)
			printNotes(c.ErrOrStderr(), v.Notes)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// encodeJSON prints v for machines, indented for the person who looks anyway.
func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
