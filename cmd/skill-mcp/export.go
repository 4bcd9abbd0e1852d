package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/pack"
)

// newExportCommand hands a skill on as an archive.
func newExportCommand() *cobra.Command {
	var f packageFlags
	var output string
	c := &cobra.Command{
		Use:   "export SKILL",
		Short: "Write a skill as a zip archive that is the same every time",
		Long: `Writes a skill as a zip archive: its files at the root, sorted, without times and
owners, so that the same skill is always the same bytes. SKILL is the name of
an imported skill (or of one in --into DIR), or the path of any skill's folder,
with a slash in it. Links, hard links, special files and names that another
system could not hold are refused; names that begin with a dot are left out and
listed.

Exit codes: 0 written, 1 refused, 2 a mistake in the command line.`,
		Example: `  skill-mcp export pdf
  skill-mcp export ./my-skills/pdf -o pdf.zip`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runExport(c, &f, args[0], output) },
	}
	f.add(c)
	c.Flags().StringVarP(&output, "output", "o", "", "the `FILE` to write (default NAME.zip here)")
	return c
}

func runExport(c *cobra.Command, f *packageFlags, unsafeSkill, output string) error {
	if err := f.recoverFirst(c.Context()); err != nil {
		return err
	}
	dir, err := f.skillFolder(unsafeSkill)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !isPath(unsafeSkill) {
			err = fmt.Errorf("%w; for a skill that was not imported give its folder, such as ./%s", err, unsafeSkill)
		}
		return f.refusal(c, fmt.Errorf("open the skill: %w", err))
	}
	defer root.Close()
	e, err := pack.PrepareExport(c.Context(), root, filepath.Base(dir))
	if err != nil {
		return f.refusal(c, err)
	}
	if output == "" {
		output = e.FileName
	}
	if err := e.ExportTo(c.Context(), output); err != nil {
		return f.refusal(c, err)
	}
	if f.asJSON {
		return answer(c.OutOrStdout(), map[string]any{"file": output, "export": e})
	}
	fmt.Fprintln(c.OutOrStdout(), output)
	fmt.Fprintf(c.ErrOrStderr(), "%s, %s, content %s\n", counted(e.Files, "file"), size(e.Bytes), e.ContentHash)
	if len(e.LeftOut) > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "left out, as their names begin with a dot: %s\n", strings.Join(e.LeftOut, ", "))
	}
	if e.Renamed {
		fmt.Fprintf(c.ErrOrStderr(), "the archive's SKILL.md carries the name %s and no displayName\n", e.Name)
	}
	return nil
}

// skillFolder takes a name for a skill in the folder of skills and everything
// with a separator for a path.
func (f *packageFlags) skillFolder(unsafeSkill string) (string, error) {
	if isPath(unsafeSkill) {
		return filepath.Abs(unsafeSkill)
	}
	_, into, err := f.places()
	return filepath.Join(into, unsafeSkill), err
}

// isPath tells a path from a name: a name has no separator.
func isPath(unsafeSkill string) bool {
	return strings.ContainsAny(unsafeSkill, `/\`) || unsafeSkill == "." || unsafeSkill == ".."
}
