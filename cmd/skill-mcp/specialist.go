package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

func newSpecialistExport() *cobra.Command {
	var f packageFlags
	var output string
	var revision int
	var include []string
	var none bool
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Export a specialist as a package",
		Long: `Without --output it shows what the package would hold: the revision, the name of
the file and each skill. With --output it writes the package; . gives the file
its usual name. Skills that came with the specialist are included unless
--include or --no-skills says otherwise; built-in skills never are. With
--revision the export is refused when the specialist has changed since.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if none && len(include) > 0 {
				return errors.New("give either --include or --no-skills")
			}
			return withSpecialists(c, &f, func(s *specialist.Shelf) error {
				p, err := s.PreviewExport(c.Context(), args[0])
				if err != nil {
					return err
				}
				if output == "" && len(include) == 0 && !none && !c.Flags().Changed("revision") {
					return showExportPreview(c, &f, p)
				}
				r := specialist.ExportRequest{SpecialistID: args[0], ExpectedRevision: p.ExpectedRevision, IncludedSkillIDs: include}
				if c.Flags().Changed("revision") {
					r.ExpectedRevision = revision
				}
				if none {
					r.IncludedSkillIDs = []string{}
				}
				return exportSpecialist(c, &f, s, r, output)
			})
		},
	}
	f.add(c)
	c.Flags().StringVarP(&output, "output", "o", "", "the new `FILE` to write, or a folder")
	c.Flags().IntVar(&revision, "revision", 0, "the revision `N` that the preview showed")
	c.Flags().StringArrayVar(&include, "include", nil, "a `SKILL` to include, once for each")
	c.Flags().BoolVar(&none, "no-skills", false, "include no skills")
	return c
}

func showExportPreview(c *cobra.Command, f *packageFlags, p *specialist.ExportPreview) error {
	if f.asJSON {
		return answer(c.OutOrStdout(), p)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s, revision %d: %s\n", p.SpecialistID, p.ExpectedRevision, printable(p.FileName))
	rows := [][]string{}
	for _, k := range p.Skills {
		state := "left out"
		if k.Selected {
			state = "included"
		}
		rows = append(rows, []string{k.ID, k.Version, string(k.Kind), state})
	}
	newPrinter(c.OutOrStdout()).table([]string{"skill", "version", "kind", "default"}, rows)
	for _, d := range p.Diagnostics {
		fmt.Fprintln(c.ErrOrStderr(), printable(d.String()))
	}
	return nil
}

func exportSpecialist(c *cobra.Command, f *packageFlags, s *specialist.Shelf, r specialist.ExportRequest, output string) error {
	done := showProgress(c, f, s)
	out, err := s.Export(c.Context(), r)
	done()
	if err != nil {
		return err
	}
	if output == "" {
		output = "."
	}
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		output = filepath.Join(output, out.FileName)
	}
	if err := writeNewFile(output, out.Data); err != nil {
		return err
	}
	if f.asJSON {
		return answer(c.OutOrStdout(), map[string]any{"file": output, "export": out})
	}
	for _, d := range out.Diagnostics {
		fmt.Fprintln(c.ErrOrStderr(), printable(d.String()))
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s, %s\n", r.SpecialistID, printable(output), counted(len(out.Skills), "skill"))
	return err
}

// writeNewFile writes a file that must not exist, and leaves none when it fails.
func writeNewFile(name string, data []byte) error {
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	_, err = out.Write(data)
	if err := errors.Join(err, out.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the file: %w", err), os.Remove(name))
	}
	return nil
}

func newSpecialistList() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List the specialists of the store",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withSpecialists(c, &f, func(s *specialist.Shelf) error { return listSpecialists(c, &f, s) })
		},
	}
	f.add(c)
	return c
}

func listSpecialists(c *cobra.Command, f *packageFlags, s *specialist.Shelf) error {
	ids, err := s.List()
	if err != nil {
		return err
	}
	rows, list := [][]string{}, []map[string]any{}
	var broken error
	for _, id := range ids {
		r, err := s.Get(id)
		if err != nil {
			broken = errors.Join(broken, err) // the others are listed all the same
			continue
		}
		state := "off"
		if r.Enabled {
			state = "on"
		}
		rows = append(rows, []string{r.ID, r.Version, fmt.Sprint(r.Revision), state, r.Name})
		list = append(list, map[string]any{
			"id": r.ID, "version": r.Version, "revision": r.Revision, "enabled": r.Enabled, "name": r.Name,
			"skillIds": r.SkillIDs, "ownedSkillIds": r.OwnedSkillIDs, "connectorIds": r.ConnectorIDs,
		})
	}
	if f.asJSON {
		err = answer(c.OutOrStdout(), map[string]any{"specialists": list})
	} else {
		newPrinter(c.OutOrStdout()).table([]string{"specialist", "version", "revision", "state", "name"}, rows)
	}
	if err == nil && broken != nil {
		err = withCode(exitProblem, broken)
	}
	return err
}

func newSpecialistDelete() *cobra.Command {
	var f packageFlags
	var revision int
	var with []string
	c := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a specialist, and skills that only it needs",
		Long: `Without --revision it shows the revision and which skills could go along. With
--revision N it deletes the specialist and the skills named with --with. Skills
that stay stand on their own from then on. A skill that something else needs
never goes.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			deleting := c.Flags().Changed("revision")
			if !deleting && len(with) > 0 {
				return errors.New("--with needs --revision: look at the preview first")
			}
			return withSpecialists(c, &f, func(s *specialist.Shelf) error {
				if !deleting {
					p, err := s.PreviewDelete(c.Context(), args[0])
					if err != nil {
						return err
					}
					return showDeletePreview(c, &f, p)
				}
				out, err := s.Delete(c.Context(), specialist.DeleteRequest{ID: args[0], ExpectedRevision: revision, DeleteSkillIDs: with})
				if err != nil {
					return err
				}
				return showDeleted(c, &f, out)
			})
		},
	}
	f.add(c)
	c.Flags().IntVar(&revision, "revision", 0, "delete it: the revision `N` that the preview showed")
	c.Flags().StringArrayVar(&with, "with", nil, "a `SKILL` to delete too, once for each")
	return c
}

func showDeletePreview(c *cobra.Command, f *packageFlags, p *specialist.DeletePreview) error {
	if f.asJSON {
		return answer(c.OutOrStdout(), p)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s, revision %d\n", p.ID, p.ExpectedRevision)
	rows := [][]string{}
	for _, k := range p.Skills {
		state := "stays"
		if k.Deletable {
			state = "can go"
		}
		reasons := []string{}
		for _, r := range k.Reasons {
			reasons = append(reasons, strings.TrimSpace(string(r.Kind)+" "+strings.Join(r.SpecialistIDs, ", ")))
		}
		rows = append(rows, []string{k.ID, state, string(k.Kind), strings.Join(reasons, "; ")})
	}
	newPrinter(c.OutOrStdout()).table([]string{"skill", "state", "kind", "reasons"}, rows)
	return nil
}

func showDeleted(c *cobra.Command, f *packageFlags, out *specialist.Deleted) error {
	if f.asJSON {
		return answer(c.OutOrStdout(), out)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: deleted\n", out.ID)
	for _, id := range out.DeletedSkills {
		fmt.Fprintf(c.OutOrStdout(), "  skill %s: deleted\n", id)
	}
	for _, id := range out.KeptSkills {
		fmt.Fprintf(c.OutOrStdout(), "  skill %s: stays\n", id)
	}
	return nil
}
