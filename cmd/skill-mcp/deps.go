package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"skill-mcp/internal/deps"
)

// newDepsCommand holds the commands for the MCP servers that skills need.
func newDepsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "deps",
		Short: "Show, check and use the MCP servers that skills depend on",
		Long: `A skill names the MCP servers it needs in agents/openai.yaml. These commands show
them, check them, and run programs with a mcporter configuration that exists
only as long as the program.

Exit codes: 0 good, 1 a mistake, a conflict or a failed call, 2 a wrong command
line; deps run ends with the code of its command.`,
		Example: `  skill-mcp deps list
  skill-mcp deps check skills/docs
  skill-mcp deps schema docs.search`,
	}
	c.AddCommand(newDepsListCommand(), newDepsCheckCommand(), newDepsRunCommand(), newDepsCallCommand(), newDepsSchemaCommand())
	return c
}

// runtimes are the words of --runtime.
func runtimes() map[string]deps.Runtime {
	return map[string]deps.Runtime{"main": deps.Main, "background": deps.Background, "automation": deps.Automation}
}

// runtimeFlag reads --runtime.
func runtimeFlag(word string) (deps.Runtime, error) {
	if r, ok := runtimes()[word]; ok {
		return r, nil
	}
	return "", fmt.Errorf("--runtime is main, background or automation, not %q", word)
}

// united scans the configured roots and unites what the skills of a run need.
func united(run deps.Runtime) ([]deps.United, error) {
	skills, disabled, err := configuredSkills()
	if err != nil {
		return nil, err
	}
	set := deps.Collect(skills, disabled, run)
	if len(set.Problems) > 0 {
		return nil, withCode(exitProblem, set.Err())
	}
	u, err := deps.Union(set.Declared)
	if err != nil {
		return nil, withCode(exitProblem, err)
	}
	return u, nil
}

func newDepsListCommand() *cobra.Command {
	var runtime string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers that the served skills need",
		Long: `Lists each server once, with how it is reached and the skills that need it.
Servers of one name that differ are a conflict, which is said and ends with 1.`,
		Example: `  skill-mcp deps list
  skill-mcp deps list --runtime automation --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			run, err := runtimeFlag(runtime)
			if err != nil {
				return err
			}
			u, err := united(run)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), map[string]any{"runtime": runtime, "servers": views(u)})
			}
			var rows [][]string
			for _, s := range u {
				rows = append(rows, []string{s.Name, string(s.Transport), strings.Join(s.Skills, ", "), s.Address()})
			}
			if len(rows) == 0 {
				fmt.Fprintln(c.ErrOrStderr(), "no served skill needs an MCP server")
				return nil
			}
			newPrinter(c.OutOrStdout()).table([]string{"server", "transport", "skills", "address"}, rows)
			return nil
		},
	}
	c.Flags().StringVar(&runtime, "runtime", "automation", "which run: `KIND` main, background or automation")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// views are the servers of a union as JSON for machines.
func views(u []deps.United) []any {
	out := []any{}
	for _, s := range u {
		out = append(out, struct {
			deps.View
			Skills []string `json:"skills"`
		}{s.View(), s.Skills})
	}
	return out
}

func newDepsCheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DIR…",
		Short: "Check the dependency files of skills and report every mistake",
		Long:  "Each DIR is a skill. Reads its agents/openai.yaml and starts nothing.",
		Example: `  skill-mcp deps check skills/docs
  skill-mcp deps check skills/*`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			type row struct {
				Skill    string        `json:"skill"`
				Servers  int           `json:"servers"`
				Problems deps.Problems `json:"problems"`
				Notes    []string      `json:"notes,omitempty"`
			}
			var rows []row
			bad := 0
			for _, dir := range dirs {
				m := deps.Read(dir)
				if m.Problems == nil {
					m.Problems = deps.Problems{}
				}
				bad += len(m.Problems)
				rows = append(rows, row{dir, len(m.Servers), m.Problems, m.Notes})
			}
			if asJSON {
				if err := writeJSON(c.OutOrStdout(), rows); err != nil {
					return err
				}
			} else {
				for _, r := range rows {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", printable(r.Skill), counted(r.Servers, "server"))
					for _, p := range r.Problems {
						fmt.Fprintln(c.OutOrStdout(), "  "+printable(p.String()))
					}
					for _, n := range r.Notes {
						fmt.Fprintln(c.OutOrStdout(), "  note: "+printable(n))
					}
				}
			}
			if bad > 0 {
				return withCode(exitProblem, fmt.Errorf("%d mistakes", bad))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newDepsRunCommand() *cobra.Command {
	var runtime string
	c := &cobra.Command{
		Use:   "run --runtime KIND -- COMMAND…",
		Short: "Run a command with the configuration of the skills' MCP servers",
		Long: `Writes a mcporter configuration for the servers that the skills of this kind of run
need, runs the command with it, and removes it. The command runs outside the
fence, as you.`,
		Example: "  skill-mcp deps run --runtime main -- mcporter list",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, argv []string) error {
			run, err := runtimeFlag(runtime)
			if err != nil {
				return err
			}
			text, err := configuration(run)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			code, err := deps.Run(ctx, deps.Command{
				Argv: argv, Env: os.Environ(), Config: text, Stdin: os.Stdin, Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr(),
			})
			if errors.Is(err, context.Canceled) {
				return withCode(130, nil) // as a shell reports an interrupt
			}
			if err != nil {
				return withCode(exitProblem, err)
			}
			if code < 0 {
				code = 128
			}
			return withCode(code, nil)
		},
	}
	c.Flags().StringVar(&runtime, "runtime", "main", "which run: `KIND` main, background or automation")
	return c
}

// configuration is the text of one run, checked for values of variables that a
// declaration names as holding a token.
func configuration(run deps.Runtime) ([]byte, error) {
	u, err := united(run)
	if err != nil {
		return nil, err
	}
	text, err := deps.Config(u)
	if err != nil {
		return nil, withCode(exitProblem, err)
	}
	secrets := map[string]string{}
	for _, s := range u {
		if s.BearerEnv != "" {
			secrets[s.BearerEnv] = os.Getenv(s.BearerEnv)
		}
	}
	if err := deps.Scan(text, secrets); err != nil {
		return nil, withCode(exitProblem, err)
	}
	return text, nil
}

// call holds the flags of the commands that start mcporter.
type call struct {
	mcporter, runtime string
	timeoutMs         int64
}

func (k *call) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.mcporter, "mcporter", "", "the mcporter `PROGRAM`; default: the one on the search path")
	c.Flags().StringVar(&k.runtime, "runtime", "automation", "which run: `KIND` main, background or automation")
	c.Flags().Int64Var(&k.timeoutMs, "timeout", 30_000, "`MS` until the call is given up")
}

// prepare gives mcporter with the configuration of the run.
func (k *call) prepare() (deps.Mcporter, time.Duration, error) {
	var m deps.Mcporter
	if k.timeoutMs < 1 || k.timeoutMs > 600_000 {
		return m, 0, fmt.Errorf("--timeout is 1 to 600000 milliseconds, not %d", k.timeoutMs)
	}
	run, err := runtimeFlag(k.runtime)
	if err != nil {
		return m, 0, err
	}
	if m.Argv, err = deps.Find(k.mcporter); err != nil {
		return m, 0, err
	}
	m.Env = os.Environ()
	m.Config, err = configuration(run)
	return m, time.Duration(k.timeoutMs) * time.Millisecond, err
}

func newDepsCallCommand() *cobra.Command {
	var k call
	var file string
	c := &cobra.Command{
		Use:   "call SERVER.TOOL",
		Short: "Call a tool of a skill's MCP server through mcporter",
		Long: `Starts the server, calls one of its tools and prints the answer. Arguments are a
JSON object. mcporter and the server run outside the fence, as you.`,
		Example: "  echo '{\"query\": \"x\"}' | skill-mcp deps call docs.search --args-file -",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			arguments, err := argumentsFrom(file, c.InOrStdin())
			if err != nil {
				return err
			}
			return k.do(c, func(ctx context.Context, m deps.Mcporter, t time.Duration) (json.RawMessage, error) {
				return m.Call(ctx, args[0], arguments, t)
			})
		},
	}
	k.flags(c)
	c.Flags().StringVar(&file, "args-file", "", "`FILE` with the arguments as a JSON object; - is standard input")
	return c
}

func newDepsSchemaCommand() *cobra.Command {
	var k call
	c := &cobra.Command{
		Use:   "schema SERVER.TOOL",
		Short: "Show the schema of a tool of a skill's MCP server",
		Long: `Starts the server and prints what arguments a tool takes. mcporter and the server
run outside the fence, as you.`,
		Example: `  skill-mcp deps schema docs.search`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return k.do(c, func(ctx context.Context, m deps.Mcporter, t time.Duration) (json.RawMessage, error) {
				return m.Schema(ctx, args[0], t)
			})
		},
	}
	k.flags(c)
	return c
}

// do prepares mcporter, runs act and prints its JSON.
func (k *call) do(c *cobra.Command, act func(context.Context, deps.Mcporter, time.Duration) (json.RawMessage, error)) error {
	m, timeout, err := k.prepare()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	answer, err := act(ctx, m, timeout)
	if err != nil {
		return withCode(exitProblem, err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", answer)
	return err
}

// maxArguments bounds the file of arguments; servers refuse more.
const maxArguments = 4 << 20

// argumentsFrom reads the arguments of a call; none means an empty object.
func argumentsFrom(file string, in io.Reader) ([]byte, error) {
	if file == "" {
		return []byte("{}"), nil
	}
	if file != "-" {
		f, err := os.Open(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxArguments+1))
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	if len(text) > maxArguments {
		return nil, fmt.Errorf("the arguments have more than %d bytes", maxArguments)
	}
	return text, nil
}

// writeJSON prints v for machines.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
