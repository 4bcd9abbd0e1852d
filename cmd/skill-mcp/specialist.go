package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/config"
	"skill-mcp/internal/specialist"
	"skill-mcp/internal/store"
)

// newSpecialistCommand holds the commands for specialist packages.
func newSpecialistCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "specialist",
		Short: "Preview, install and export specialist packages",
		Long: `A specialist package is a zip with a manifest, a profile and the skills it
brings along. preview reports everything that is wrong with one and what would
happen; install installs exactly what was previewed, skills and specialist
together or neither. Nothing of a package is run, and nothing is granted.

Exit codes: 0 good, 1 the package or the store says no, 2 a mistake in the
command line.`,
		Example: `  skill-mcp specialist preview reviewer.zip
  skill-mcp specialist install TOKEN --resolve lint=use-incoming --overwrite
  skill-mcp specialist export reviewer -o .
  skill-mcp specialist delete reviewer --revision 2 --with lint`,
	}
	c.AddCommand(newSpecialistPreview(), newSpecialistInstall(), newSpecialistExport(), newSpecialistList(), newSpecialistDelete())
	return c
}

// withSpecialists opens the store and gives its specialists.
func withSpecialists(c *cobra.Command, f *packageFlags, do func(*specialist.Shelf) error) error {
	dir, into, err := f.places()
	if err != nil {
		return err
	}
	s, err := store.Open(dir)
	if err != nil {
		return withCode(exitProblem, err)
	}
	defer s.Close()
	err = do(&specialist.Shelf{Store: s, Into: into, Owner: ownerName(), App: config.Version, Connectors: builtInConnectors})
	var coded *codedError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return f.refusal(c, err)
}

// showProgress shows how far a command is until done is called, which has to
// come before anything is printed.
func showProgress(c *cobra.Command, f *packageFlags, s *specialist.Shelf) (done func()) {
	m := newMeter(c.ErrOrStderr(), f.asJSON)
	s.Progress = m.step
	return m.finish
}

func newSpecialistPreview() *cobra.Command {
	var f packageFlags
	var report string
	c := &cobra.Command{
		Use:   "preview SOURCE",
		Short: "Show what a package holds and what an install would do",
		Long: `Reads a package, a .zip file or a folder, and reports everything that is wrong
with it at once. It installs nothing and starts nothing. The token it prints is
good for ten minutes, for one install, by the same user, until the next preview.

Exit codes: 0 it can be installed, 1 it cannot, or a conflict has to be resolved
first, 2 a mistake in the command line.`,
		Example: `  skill-mcp specialist preview reviewer.zip
  skill-mcp specialist preview ./reviewer --report report.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withSpecialists(c, &f, func(s *specialist.Shelf) error {
				done := showProgress(c, &f, s)
				p, err := s.Preview(c.Context(), args[0])
				done()
				if err != nil {
					return err
				}
				return showSpecialist(c, &f, p, report)
			})
		},
	}
	f.add(c)
	c.Flags().StringVar(&report, "report", "", "also write the report, without the token, to a new `FILE`")
	return c
}

func showSpecialist(c *cobra.Command, f *packageFlags, p *specialist.Preview, report string) error {
	if report != "" {
		text, err := json.MarshalIndent(p.Report, "", "  ")
		if err == nil {
			err = writeNewFile(report, append(text, '\n'))
		}
		if err != nil {
			return withCode(exitProblem, err)
		}
	}
	if f.asJSON {
		if err := answer(c.OutOrStdout(), p); err != nil {
			return err
		}
	} else {
		for _, line := range p.Report.Lines() {
			fmt.Fprintln(c.OutOrStdout(), printable(line))
		}
		if p.Token != "" {
			fmt.Fprintf(c.OutOrStdout(), "token %s (until %s, once)\n", p.Token, p.ExpiresAt.Format("15:04:05 MST"))
		}
	}
	if !p.Report.Installable {
		return withCode(exitProblem, errors.New("the package cannot be installed as it is"))
	}
	return nil
}

func newSpecialistInstall() *cobra.Command {
	var f packageFlags
	var overwrite bool
	var resolve []string
	var request string
	c := &cobra.Command{
		Use:   "install [TOKEN]",
		Short: "Install what was previewed, all of it or nothing",
		Long: `Installs the package that a preview gave the token for. A new specialist is off
until its setup is saved. Where another skill of a bundled name is installed,
--resolve says which one the specialist uses: use-installed leaves it as it is,
use-incoming replaces it. A specialist that exists is overwritten only with
--overwrite.

--request takes {"candidateToken", "confirmOverwrite",
"skillConflictResolutions": [{"skillId", "resolution"}]} from a file (- is
standard input) in place of token and flags.`,
		Example: `  skill-mcp specialist install TOKEN
  skill-mcp specialist install TOKEN --resolve lint=use-incoming --overwrite`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (request == "") == (len(args) == 0) || request != "" && (overwrite || len(resolve) > 0) {
				return errors.New("give either a token or --request FILE")
			}
			return withSpecialists(c, &f, func(s *specialist.Shelf) error {
				r, err := installRequest(c, args, overwrite, resolve, request)
				if err != nil {
					return err
				}
				done := showProgress(c, &f, s)
				out, err := s.Install(c.Context(), r)
				done()
				if err != nil {
					return err
				}
				return showInstalled(c, &f, out)
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace the specialist that has the package's id")
	c.Flags().StringArrayVar(&resolve, "resolve", nil, "`SKILL=use-installed` or SKILL=use-incoming, once for each conflict")
	c.Flags().StringVar(&request, "request", "", "read the request from a `FILE`")
	return c
}

func installRequest(c *cobra.Command, args []string, overwrite bool, resolve []string, file string) (specialist.Request, error) {
	if file == "" {
		r := specialist.Request{Token: args[0], ConfirmOverwrite: overwrite}
		for _, one := range resolve {
			id, how, _ := strings.Cut(one, "=")
			r.Resolutions = append(r.Resolutions, specialist.Resolution{SkillID: id, Resolution: how})
		}
		return r, nil
	}
	const most = 1 << 20 // far above any request
	text, err := []byte(nil), error(nil)
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(c.InOrStdin(), most+1))
	} else {
		text, err = readBounded(file, most)
	}
	if err != nil {
		return specialist.Request{}, err
	}
	return specialist.ParseRequest(text)
}

func showInstalled(c *cobra.Command, f *packageFlags, out *specialist.Installed) error {
	if f.asJSON {
		return answer(c.OutOrStdout(), out)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s %s: installed, revision %d\n", out.ID, out.Version, out.Revision)
	for _, k := range out.Skills {
		fmt.Fprintf(c.OutOrStdout(), "  skill %s: %s\n", k.ID, k.Disposition)
	}
	for _, d := range out.Diagnostics {
		fmt.Fprintln(c.ErrOrStderr(), printable(d.String()))
	}
	return nil
}
