package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/specialist"
)

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
		Example: `  skill-mcp specialist export reviewer
  skill-mcp specialist export reviewer -o . --no-skills`,
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
		Long:  "Lists the specialists that were installed, with version, revision and skills.",
		Example: `  skill-mcp specialist list
  skill-mcp specialist list --json`,
		Args: cobra.NoArgs,
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
		Example: `  skill-mcp specialist delete reviewer
  skill-mcp specialist delete reviewer --revision 2 --with lint`,
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
