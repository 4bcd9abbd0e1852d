package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"skill-mcp/internal/connector"
	"skill-mcp/internal/store"
)

// newConnectorCommand holds the commands for connector templates.
func newConnectorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "connector",
		Short: "Check, import and export connector templates",
		Long: `A connector template says how an MCP server is reached, without any value that
would let somebody in. Importing one starts, installs and calls nothing.

Exit codes: 0 good, 1 the document or the store says no, 2 a mistake in the
command line.`,
		Example: `  skill-mcp connector check servers.json
  skill-mcp connector import servers.json
  skill-mcp connector export-mcp docs -o docs.json`,
	}
	c.AddCommand(newConnectorCheck(), newConnectorImport(), newConnectorExport("export", false), newConnectorExport("export-mcp", true), newConnectorList())
	return c
}

// builtInConnectors are names that no imported connector may take. This
// product ships none.
var builtInConnectors []string

// withShelf opens the store and gives its connectors.
func withShelf(f *packageFlags, do func(connector.Shelf) error) error {
	dir, _, err := f.places()
	if err != nil {
		return err
	}
	s, err := store.Open(dir)
	if err != nil {
		return withCode(exitProblem, err)
	}
	defer s.Close()
	return do(connector.Shelf{Store: s, BuiltIn: builtInConnectors})
}

// found is what one document gave, for people and machines.
type found struct {
	Name        string                 `json:"name"`
	Ready       bool                   `json:"ready"`
	Imported    bool                   `json:"imported"`
	Diagnostics []connector.Diagnostic `json:"diagnostics"`
}

// document reads a template or an mcpServers document from a file.
func document(path string, names connector.Names) ([]connector.Template, []found, error) {
	text, err := readBounded(path, connector.MaxBytes)
	if err != nil {
		return nil, nil, err
	}
	t, r := connector.Parse(text, names)
	if r.Ready() || !looksLikeServers(r) {
		return []connector.Template{t}, []found{{Name: t.Name, Ready: r.Ready(), Diagnostics: notNil(r.Diagnostics)}}, nil
	}
	templates, reports, whole := connector.ImportServers(text, names)
	if len(templates) == 0 {
		return nil, []found{{Diagnostics: notNil(whole.Diagnostics)}}, nil
	}
	var out []found
	for i, r := range reports {
		out = append(out, found{Name: templates[i].Name, Ready: r.Ready(), Diagnostics: notNil(r.Diagnostics)})
	}
	return templates, out, nil
}

// looksLikeServers reports that a document is no template but may be for MCP
// clients: it has the one key of those.
func looksLikeServers(r *connector.Report) bool {
	for _, d := range r.Diagnostics {
		if d.Path == "mcpServers" || d.Path == "packages" || d.Path == "remotes" {
			return true
		}
	}
	return false
}

func notNil(d []connector.Diagnostic) []connector.Diagnostic {
	if d == nil {
		return []connector.Diagnostic{}
	}
	return d
}

// readBounded reads a regular file, and one byte more than the bound so that
// the parser says that it is too large.
func readBounded(path string, most int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, withCode(exitProblem, fmt.Errorf("read the document: %w", err))
	}
	if !st.Mode().IsRegular() {
		return nil, withCode(exitProblem, fmt.Errorf("read the document: %s is not a regular file", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withCode(exitProblem, fmt.Errorf("read the document: %w", err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, withCode(exitProblem, fmt.Errorf("read the document: %w", err))
	}
	return text, nil
}

// tell prints what was found; the error says how many documents are not good.
func tell(c *cobra.Command, f *packageFlags, all []found) error {
	bad := 0
	for _, one := range all {
		if !one.Ready {
			bad++
		}
	}
	if f.asJSON {
		if err := answer(c.OutOrStdout(), map[string]any{"connectors": all}); err != nil {
			return err
		}
	} else {
		for _, one := range all {
			state := "ready"
			if one.Imported {
				state = "imported: not connected, secrets missing"
			} else if !one.Ready {
				state = "refused"
			}
			name := one.Name
			if name == "" {
				name = "the document"
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", printable(name), state)
			for _, d := range one.Diagnostics {
				fmt.Fprintln(c.OutOrStdout(), "  "+printable(d.String()))
			}
		}
	}
	if bad > 0 {
		return withCode(exitProblem, fmt.Errorf("%d of %d connectors are refused", bad, len(all)))
	}
	return nil
}

func newConnectorCheck() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a connector template or an mcpServers document",
		Long: `Reads a document and reports every mistake in it, and what an import would drop.
Nothing is imported.

Exit codes: 0 it could be imported, 1 it could not, 2 a mistake in the command line.`,
		Example: `  skill-mcp connector check servers.json
  skill-mcp connector check connector.json --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withShelf(&f, func(s connector.Shelf) error {
				names, err := s.Names()
				if err != nil {
					return withCode(exitProblem, err)
				}
				_, all, err := document(args[0], names)
				if err != nil {
					return err
				}
				return tell(c, &f, all)
			})
		},
	}
	f.add(c)
	return c
}

func newConnectorImport() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import connectors: all of a document, or none",
		Long: `Imports a connector template, or every server of an mcpServers document. Values
of variables and headers are dropped and their names kept. Nothing is started.`,
		Example: `  skill-mcp connector import servers.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withShelf(&f, func(s connector.Shelf) error { return runConnectorImport(c, &f, s, args[0]) })
		},
	}
	f.add(c)
	return c
}

func runConnectorImport(c *cobra.Command, f *packageFlags, s connector.Shelf, path string) error {
	names, err := s.Names()
	if err != nil {
		return withCode(exitProblem, err)
	}
	templates, all, err := document(path, names)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !one.Ready {
			return tell(c, f, all)
		}
	}
	if err := s.Add(context.Background(), templates...); err != nil {
		return withCode(exitProblem, err)
	}
	for i := range all {
		all[i].Imported = true
	}
	return tell(c, f, all)
}

// newConnectorExport writes one of the two export formats.
func newConnectorExport(use string, forClients bool) *cobra.Command {
	var f packageFlags
	var output, digest string
	short := "Export a connector as a template"
	if forClients {
		short = "Export a connector as an mcpServers document for MCP clients"
	}
	c := &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Long: short + `.

No value leaves the store: secrets are names, or
placeholders of the form ${NAME}. Without --output the text is printed; its
digest, which --json shows, can be given with --digest to write only what was
shown.`,
		Example: "  skill-mcp connector " + use + " docs\n  skill-mcp connector " + use + " docs -o .",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withShelf(&f, func(s connector.Shelf) error {
				t, _, err := s.Get(args[0])
				if err != nil {
					return withCode(exitProblem, err)
				}
				e, err := connector.Export(t)
				if forClients {
					e, err = connector.ExportClient(t)
				}
				if err != nil {
					return withCode(exitProblem, err)
				}
				return writeConnector(c, &f, e, output, digest)
			})
		},
	}
	f.add(c)
	c.Flags().StringVarP(&output, "output", "o", "", "the new `FILE` to write; . gives it its usual name")
	c.Flags().StringVar(&digest, "digest", "", "write only the text that has this `DIGEST`")
	return c
}

func writeConnector(c *cobra.Command, f *packageFlags, e connector.Exported, output, digest string) error {
	if digest != "" && digest != e.Digest() {
		return withCode(exitProblem, connector.ErrPreviewAgain)
	}
	if output == "." {
		output = e.File
	}
	if output != "" {
		if err := writeNew(output, string(e.Text)); err != nil {
			return withCode(exitProblem, err)
		}
	}
	for _, d := range e.Diagnostics {
		fmt.Fprintln(c.ErrOrStderr(), printable(d.String()))
	}
	for _, l := range connector.MappingLines(e.Mapping) {
		fmt.Fprintln(c.ErrOrStderr(), "note: "+l)
	}
	if f.asJSON {
		return answer(c.OutOrStdout(), map[string]any{
			"file": output, "name": e.File, "digest": e.Digest(), "text": string(e.Text), "mapping": e.Mapping, "diagnostics": notNil(e.Diagnostics),
		})
	}
	if output == "" {
		_, err := c.OutOrStdout().Write(e.Text)
		return err
	}
	return nil
}

func newConnectorList() *cobra.Command {
	var f packageFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List the connectors of the store",
		Long:  "Lists the connectors that were imported, with how each server is reached.",
		Example: `  skill-mcp connector list
  skill-mcp connector list --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withShelf(&f, func(s connector.Shelf) error { return listConnectors(c, &f, s) })
		},
	}
	f.add(c)
	return c
}

func listConnectors(c *cobra.Command, f *packageFlags, s connector.Shelf) error {
	names, err := s.List()
	if err != nil {
		return withCode(exitProblem, err)
	}
	var rows [][]string
	list := []map[string]any{}
	var broken error
	for _, n := range names {
		t, _, err := s.Get(n)
		if err != nil {
			broken = errors.Join(broken, err) // the others are listed all the same
			continue
		}
		address := t.URL
		if address == "" {
			address = t.Command
		}
		rows = append(rows, []string{t.Name, string(t.Transport), t.DisplayName, address})
		list = append(list, map[string]any{
			"name": t.Name, "displayName": t.DisplayName, "transport": t.Transport, "state": "not connected",
			"secrets": append(append([]string{}, t.Environment...), t.Headers...),
		})
	}
	if f.asJSON {
		if err := answer(c.OutOrStdout(), map[string]any{"connectors": list}); err != nil {
			return err
		}
	} else {
		newPrinter(c.OutOrStdout()).table([]string{"name", "transport", "title", "address"}, rows)
	}
	if broken != nil {
		return withCode(exitProblem, broken)
	}
	return nil
}
