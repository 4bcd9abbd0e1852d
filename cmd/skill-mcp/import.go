package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
)

// newImportCommand brings skills in, in two steps: look, then apply.
func newImportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Bring skills in from a zip, a folder or GitHub",
		Long: `Brings skills in, in two steps. preview shows what a bundle holds, what would
happen and what to look at, and prints a token. apply installs what you choose
of it. Nothing of a bundle is run, and nothing is granted: the folder is served
only once you name it in SKILLS_DIR. Then a declared script may run after each
approval; with MCP_SKILL_RUN only the scripts that it names.

Exit codes: 0 everything succeeded, 1 something was refused or failed, 2 a
mistake in the command line.`,
		Example: `  skill-mcp import preview bundle.zip
  skill-mcp import preview https://github.com/owner/repo/tree/main/skills
  skill-mcp import apply TOKEN --select skills/pdf --select skills/csv=csv`,
	}
	c.AddCommand(newImportPreviewCommand(), newImportApplyCommand())
	return c
}

func newImportPreviewCommand() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "preview SOURCE",
		Short: "Show what a bundle holds and what an import would do",
		Long: `Shows every skill in SOURCE with what would happen to it and what to look at. It
installs nothing and starts nothing. SOURCE is a .zip or .skill file, a folder,
or https://github.com/owner/repo[/tree/ref/path]. GITHUB_TOKEN is used if set,
and sent to api.github.com and raw.githubusercontent.com only;
MCP_SKILL_GITHUB_API points to another base.

Exit codes: 0 there is something to import, 1 the bundle was refused or holds
no skill that can be imported, 2 a mistake in the command line.`,
		Example: `  skill-mcp import preview bundle.zip
  skill-mcp import preview https://github.com/acme/skills/tree/main/pdf --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			im, done, err := f.importer(c.ErrOrStderr())
			if err != nil {
				return err
			}
			p, err := im.Preview(c.Context(), args[0])
			done()
			if err != nil {
				return f.refusal(c, err)
			}
			return showPreview(c, &f, p)
		},
	}
	f.add(c)
	return c
}

func showPreview(c *cobra.Command, f *packageFlags, p *pack.Preview) error {
	importable := 0
	for i := range p.Candidates {
		if p.Candidates[i].Importable {
			importable++
		}
	}
	if f.asJSON {
		if err := answer(c.OutOrStdout(), p); err != nil {
			return err
		}
	} else {
		printPreview(c.OutOrStdout(), p)
	}
	if !f.asJSON && importable > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "\nto install: skill-mcp import apply %s %s\n", p.Token, "--all, or --select PATH for each")
	}
	if importable == 0 {
		return withCode(exitProblem, fmt.Errorf("no skill in the bundle can be imported"))
	}
	return nil
}

func printPreview(w io.Writer, p *pack.Preview) {
	for i := range p.Candidates {
		printCandidate(w, &p.Candidates[i])
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(w, "skipped %s: %s\n", s.Source, s.Reason)
	}
	fmt.Fprintf(w, "into %s\ntoken %s (until %s, once)\n", archive.Shown(p.Into), p.Token, p.ExpiresAt.Format("15:04:05 MST"))
}

func printCandidate(w io.Writer, c *pack.Candidate) {
	fmt.Fprintf(w, "%s: %s", archive.Shown(shownPath(c.Path)), c.Action)
	if c.InstallName != "" {
		fmt.Fprintf(w, " as %s", c.InstallName)
	}
	fmt.Fprintf(w, ", %s, %s\n", counted(len(c.Files), "file"), size(c.Bytes))
	switch {
	case c.PreviewError != "":
		fmt.Fprintf(w, "  note: %s\n", c.PreviewError)
	case c.Description != "":
		fmt.Fprintf(w, "  %s\n", archive.Shown(c.Description))
	}
	switch c.Action {
	case pack.ActionUnchanged:
		fmt.Fprintf(w, "  the same content is installed as %s\n", c.AlreadyImported)
	case pack.ActionUpdate:
		fmt.Fprintf(w, "  replaces %s only with --select %s=%s\n", c.ReplaceableID, archive.Shown(shownPath(c.Path)), c.ReplaceableID)
		printChanges(w, c.Changes)
	}
	for _, d := range c.Diagnostics {
		printDiagnostic(w, &d)
	}
}

func printDiagnostic(w io.Writer, d *pack.Diagnostic) {
	fmt.Fprintf(w, "  %s %s: %s", d.Level, d.Code, d.Message)
	if d.Path != "" {
		fmt.Fprintf(w, " at %s", d.Path)
	}
	if d.Unit != "" {
		fmt.Fprintf(w, " (%d, limit %d %s)", d.Actual, d.Limit, d.Unit)
	}
	fmt.Fprintln(w)
}

// mostChanges is how many changed files of a kind are printed; --json has all.
const mostChanges = 20

func printChanges(w io.Writer, changes *pack.Changes) {
	if changes == nil {
		return
	}
	for _, kind := range []struct {
		word  string
		names []string
	}{{"added", changes.Added}, {"changed", changes.Changed}, {"removed", changes.Removed}} {
		for _, n := range kind.names[:min(mostChanges, len(kind.names))] {
			fmt.Fprintf(w, "  %s %s\n", kind.word, archive.Shown(n))
		}
		if more := len(kind.names) - mostChanges; more > 0 {
			fmt.Fprintf(w, "  %s %d more\n", kind.word, more)
		}
	}
}

// shownPath lets a person write the bundle itself.
func shownPath(p string) string {
	if p == "" {
		return "."
	}
	return p
}

func newImportApplyCommand() *cobra.Command {
	var f packageFlags
	var selected []string
	var all bool
	c := &cobra.Command{
		Use:   "apply TOKEN",
		Short: "Install what was chosen of a preview",
		Long: `Installs what was chosen of the preview that printed TOKEN. A token is good for
ten minutes and one apply, and only while neither the bundle nor the installed
skills change. Each skill has its own result; one that fails leaves the others
alone. An installed skill is replaced only when its id is named: PATH=ID. The
folder of skills is the one that was given to preview.

Exit codes: 0 every item succeeded, 1 at least one did not, 2 a mistake in the
command line.`,
		Example: `  skill-mcp import apply TOKEN --all
  skill-mcp import apply TOKEN --select pdf --select lint=lint`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			im, done, err := f.importer(c.ErrOrStderr())
			if err != nil {
				return err
			}
			a, err := im.Apply(c.Context(), args[0], choices(selected), all)
			done()
			if err != nil {
				return f.refusal(c, err)
			}
			return showApplied(c, &f, a)
		},
	}
	c.Flags().StringVar(&f.store, "store", "", "the `DIR` that keeps state (default $XDG_DATA_HOME/skill-mcp)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON, and no progress")
	c.Flags().StringArrayVar(&selected, "select", nil, "install `PATH`, or PATH=ID to replace the skill ID; may be given again")
	c.Flags().BoolVar(&all, "all", false, "install everything that can be")
	return c
}

var replaceRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*)=([a-z0-9][a-z0-9-]*)$`) })

// choices reads PATH or PATH=ID; a dot is the bundle itself.
func choices(selected []string) []pack.Choice {
	out := []pack.Choice{}
	for _, s := range selected {
		choice := pack.Choice{Path: s}
		if m := replaceRule().FindStringSubmatch(s); m != nil {
			choice = pack.Choice{Path: m[1], ReplaceID: m[2]}
		}
		if choice.Path == "." {
			choice.Path = ""
		}
		choice.Path = strings.TrimSuffix(choice.Path, "/")
		out = append(out, choice)
	}
	return out
}

func showApplied(c *cobra.Command, f *packageFlags, a *pack.Applied) error {
	if f.asJSON {
		if err := answer(c.OutOrStdout(), a); err != nil {
			return err
		}
	} else {
		for _, r := range a.Results {
			fmt.Fprintf(c.OutOrStdout(), "%s: %s", archive.Shown(shownPath(r.Path)), r.Status)
			if r.ID != "" && r.Status != pack.StatusError {
				fmt.Fprintf(c.OutOrStdout(), " as %s", r.ID)
			}
			if r.Message != "" {
				fmt.Fprintf(c.OutOrStdout(), ": %s: %s", r.Code, r.Message)
			}
			fmt.Fprintln(c.OutOrStdout())
		}
	}
	if n := a.Failed(); n > 0 {
		return withCode(exitProblem, fmt.Errorf("%d of %d items failed", n, len(a.Results)))
	}
	if !f.asJSON {
		fmt.Fprintf(c.ErrOrStderr(), "serve them with SKILLS_DIR=%s: declared scripts then run when approved, with MCP_SKILL_RUN only those it names\n", a.Into)
	}
	return nil
}
