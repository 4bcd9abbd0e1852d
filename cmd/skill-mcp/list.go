package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
)

// newListCommand shows what is served and what is wrong.
func newListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the skills that would be served, and every problem",
		Long: `Scans the configured folders as the server does. Problems are part of the answer:
a folder is a skill or has a reason why not.

Exit codes: 0 listed, 2 a wrong command line or configuration.`,
		Example: `  skill-mcp list
  SKILLS_DIR=~/skills skill-mcp list --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, found, err := configuredCatalog(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), listing(cfg, found))
			}
			p := newPrinter(c.OutOrStdout())
			var rows [][]string
			for _, s := range found.Skills {
				rows = append(rows, []string{s.Name, scriptsText(cfg, s), deref(s.Description)})
			}
			p.table([]string{"skill", "scripts", "description"}, rows)
			notes := newPrinter(c.ErrOrStderr())
			for _, pr := range found.Problems {
				notes.paragraph(pr.Path+": "+pr.Reason+": "+pr.Detail, pr.Reason+":", colorWarn)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// scriptsText says how many scripts a skill declares and how many may run.
func scriptsText(cfg config.Front, s *catalog.Skill) string {
	granted := 0
	for _, d := range s.Declaration.Scripts {
		if _, ok := cfg.Grants.Allows(s.Name, d.Path, d.Env); ok {
			granted++
		}
	}
	switch n := len(s.Declaration.Scripts); {
	case n == 0:
		return "none"
	case n == granted:
		return fmt.Sprint(n)
	default:
		return fmt.Sprintf("%d, %d granted", n, granted)
	}
}

// listedSkill is one skill for machines.
type listedSkill struct {
	Name        string   `json:"name"`
	Description *string  `json:"description,omitempty"`
	Dir         string   `json:"dir"`
	Files       int      `json:"files"`
	Scripts     []string `json:"scripts"`
	NotPortable []string `json:"notPortable,omitempty"`
}

func listing(cfg config.Front, c *catalog.Catalog) any {
	skills := []listedSkill{}
	for _, s := range c.Skills {
		l := listedSkill{Name: s.Name, Description: s.Description, Dir: s.Dir, Files: len(s.Paths()), Scripts: []string{}, NotPortable: s.NotPortable}
		for _, d := range s.Declaration.Scripts {
			l.Scripts = append(l.Scripts, d.Path)
		}
		skills = append(skills, l)
	}
	problems := c.Problems
	if problems == nil {
		problems = []catalog.Problem{}
	}
	return map[string]any{"roots": cfg.Roots, "skills": skills, "problems": problems}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// newShowCommand shows one skill.
func newShowCommand() *cobra.Command {
	var body bool
	c := &cobra.Command{
		Use:   "show SKILL",
		Short: "Show one skill: what it says, brings and asks for",
		Long: `Shows name, description and folder of a skill, each declared script with what it
is granted, the hosts it asks for, and every problem.

Exit codes: 0 shown, 1 no such skill, 2 a wrong command line or configuration.`,
		Example: `  skill-mcp show pdf
  skill-mcp show pdf --body | less`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, found, err := configuredCatalog(c.Context())
			if err != nil {
				return err
			}
			s := found.Skill(args[0])
			if s == nil {
				return withCode(exitProblem, noSkill(found, args[0]))
			}
			if body {
				_, err := fmt.Fprint(c.OutOrStdout(), s.Body)
				return err
			}
			showSkill(newPrinter(c.OutOrStdout()), cfg, found, s)
			return nil
		},
	}
	c.Flags().BoolVar(&body, "body", false, "print the instructions as they are, and nothing else")
	return c
}

// noSkill says what there is instead.
func noSkill(c *catalog.Catalog, name string) error {
	var names []string
	for _, s := range c.Skills {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("no skill is called %q: none is served (skill-mcp list says why)", name)
	}
	return fmt.Errorf("no skill is called %q (skills: %s)", name, strings.Join(names, ", "))
}

func showSkill(p *printer, cfg config.Front, c *catalog.Catalog, s *catalog.Skill) {
	rows := [][]string{{"name", s.Name}, {"description", deref(s.Description)}, {"folder", s.Dir},
		{"files", fmt.Sprintf("%d, %d bytes", len(s.Paths()), s.Bytes())}}
	if w := deref(s.WhenToUse); w != "" {
		rows = append(rows, []string{"when to use", w})
	}
	for _, d := range s.Declaration.Scripts {
		env, granted := cfg.Grants.Allows(s.Name, d.Path, d.Env)
		text := fmt.Sprintf("%s, %s, at most %d s", d.Path, d.Interpreter, d.TimeoutMs/1000)
		if !granted {
			text += ", not granted"
		} else if len(env) > 0 {
			text += ", receives " + strings.Join(env, " ")
		}
		rows = append(rows, []string{"script", text})
	}
	if len(s.Declaration.Egress) > 0 {
		rows = append(rows, []string{"hosts", strings.Join(s.Declaration.Egress, " ")})
	}
	for _, why := range s.NotPortable {
		rows = append(rows, []string{"not portable", why})
	}
	for _, pr := range c.Problems {
		if pr.Path == s.Dir || strings.HasPrefix(pr.Path, s.Dir+"/") {
			rows = append(rows, []string{"problem", pr.Reason + ": " + pr.Detail})
		}
	}
	p.table([]string{"what", "value"}, rows)
}
