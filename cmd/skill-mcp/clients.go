package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/launch"
)

// client is one MCP client and how it is told of a server.
type client struct {
	name  string // as it is written on the command line
	title string
	where string // the file that a person edits
	text  func(command string, env map[string]string) string
}

// clients are the clients whose configuration is printed, by name.
func clients() []client {
	return []client{
		{"claude-code", "Claude Code", ".mcp.json in the project, or ~/.claude.json", underKey("mcpServers", nil)},
		{"claude-desktop", "Claude Desktop", "claude_desktop_config.json", underKey("mcpServers", nil)},
		{"codex", "Codex", "~/.codex/config.toml", codexText},
		{"cursor", "Cursor", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json", underKey("mcpServers", nil)},
		{"gemini", "Gemini CLI", "~/.gemini/settings.json", underKey("mcpServers", nil)},
		{"opencode", "opencode", "opencode.json in the project", opencodeText},
		{"vscode", "VS Code", ".vscode/mcp.json in the project", underKey("servers", map[string]any{"type": "stdio"})},
	}
}

// newClientsCommand prints ready configuration for MCP clients.
func newClientsCommand() *cobra.Command {
	var write, skills string
	c := &cobra.Command{
		Use:   "clients [CLIENT]",
		Short: "Print ready configuration for MCP clients",
		Long: `Prints what each client needs to start this server. Nothing is changed: with
--write the text of one client goes into a file that must not exist yet.`,
		Example: `  skill-mcp clients
  skill-mcp clients cursor --skills ~/skills
  skill-mcp clients vscode --write .vscode/mcp.json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: clientNames(),
		RunE: func(c *cobra.Command, args []string) error {
			return printClients(c, args, write, skills)
		},
	}
	c.Flags().StringVar(&write, "write", "", "write the configuration of CLIENT into a new `FILE`")
	c.Flags().StringVar(&skills, "skills", os.Getenv("SKILLS_DIR"), "the `DIR` of skills to serve")
	return c
}

func clientNames() []string {
	var out []string
	for _, c := range clients() {
		out = append(out, c.name)
	}
	return out
}

func printClients(c *cobra.Command, args []string, write, skills string) error {
	command, err := launch.Helper("skill-mcp")
	if err != nil {
		return err
	}
	env := map[string]string{}
	if skills != "" {
		if env["SKILLS_DIR"], err = absoluteList(skills); err != nil {
			return err
		}
	}
	var chosen []client
	for _, one := range clients() {
		if len(args) == 0 || args[0] == one.name {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no client is called %q (known: %s)", args[0], strings.Join(clientNames(), ", "))
	}
	if write != "" {
		if len(args) == 0 {
			return errors.New("--write needs the name of one client")
		}
		return writeNew(write, chosen[0].text(command, env))
	}
	for i, one := range chosen {
		if len(chosen) > 1 {
			if i > 0 {
				fmt.Fprintln(c.OutOrStdout())
			}
			fmt.Fprintf(c.OutOrStdout(), "# %s (%s): %s\n", one.title, one.name, one.where)
		}
		fmt.Fprint(c.OutOrStdout(), one.text(command, env))
	}
	return nil
}

// absoluteList makes each folder of a list absolute: a client starts the server
// in a folder of its own choice.
func absoluteList(dirs string) (string, error) {
	list := filepath.SplitList(dirs)
	for i, d := range list {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", fmt.Errorf("find %q: %w", d, err)
		}
		list[i] = abs
	}
	return strings.Join(list, string(os.PathListSeparator)), nil
}

// writeNew creates a file, with the folder that a client keeps it in, and
// refuses to change one that is there.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: add the printed part to it by hand", path)
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

// underKey is the JSON shape most clients share.
func underKey(key string, more map[string]any) func(string, map[string]string) string {
	return func(command string, env map[string]string) string {
		entry := map[string]any{"command": command}
		for k, v := range more {
			entry[k] = v
		}
		if len(env) > 0 {
			entry["env"] = env
		}
		return pretty(map[string]any{key: map[string]any{"skills": entry}})
	}
}

func opencodeText(command string, env map[string]string) string {
	entry := map[string]any{"type": "local", "command": []string{command}, "enabled": true}
	if len(env) > 0 {
		entry["environment"] = env
	}
	return pretty(map[string]any{"mcp": map[string]any{"skills": entry}})
}

// codexText is TOML; its basic strings take the escapes of JSON.
func codexText(command string, env map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.skills]\ncommand = %s\n", quote(command))
	if len(env) > 0 {
		names := make([]string, 0, len(env))
		for n := range env {
			names = append(names, n)
		}
		sort.Strings(names)
		b.WriteString("\n[mcp_servers.skills.env]\n")
		for _, n := range names {
			fmt.Fprintf(&b, "%s = %s\n", n, quote(env[n]))
		}
	}
	return b.String()
}

func quote(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

func pretty(v any) string {
	text, _ := json.MarshalIndent(v, "", "  ")
	return string(text) + "\n"
}
