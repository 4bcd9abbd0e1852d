package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"skill-mcp/internal/confirm"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/launch"
)

// setting is one line of the effective configuration.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // the variable that set it, or default
}

// newConfigCommand shows the effective configuration.
func newConfigCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "Show the effective configuration and where each value came from",
		Long: `Shows what a server started in this environment would use, and which variable each
value came from. Values of secrets are never shown.

Exit codes: 0 shown, 2 a wrong command line or configuration.`,
		Example: `  skill-mcp config
  MCP_SKILL_POLICY=strict skill-mcp config --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows, warnings, err := settings(os.LookupEnv)
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(map[string]any{"settings": rows, "warnings": warnings})
			}
			var lines [][]string
			for _, r := range rows {
				lines = append(lines, []string{r.Name, r.Value, r.Origin})
			}
			newPrinter(c.OutOrStdout()).table([]string{"setting", "value", "from"}, lines)
			for _, w := range warnings {
				newPrinter(c.ErrOrStderr()).paragraph("warning: "+w, "warning:", colorWarn)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// settings gives every setting with its origin.
func settings(look grant.Lookup) ([]setting, []string, error) {
	f, _, err := launch.Assemble(look, launch.Options{})
	if err != nil {
		return nil, nil, err
	}
	origin := func(names ...string) string {
		for _, n := range names {
			if _, ok := grant.Read(look, n); ok {
				return n
			}
		}
		return "default"
	}
	orDefault := func(v, def string) string {
		if v == "" {
			return def
		}
		return v
	}
	mode := "standalone"
	if f.Hosted {
		mode = "hosted"
	}
	key := "random for each process"
	if f.Confirm.Stable {
		key = "set (not shown)"
	}
	grants := string(f.Grants.From)
	if f.Grants.Error != "" {
		grants += ": " + f.Grants.Error
	} else if f.Grants.From == grant.FromVariable {
		grants = fmt.Sprintf("%d rows", len(f.Grants.Rows))
	}
	proxy := "none"
	if f.ProxySet {
		proxy = "set (not shown)" // its address may hold a password
	}
	gate, warnings := confirm.ReadSettings(f.Confirm)
	prompts, lasts := "on", fmt.Sprintf("%.0f s", gate.TTL.Seconds())
	if !gate.Prompts {
		prompts = "off"
	}
	if gate.TTL == 0 {
		lasts = "unusable: no approval by token"
	}
	return []setting{
		{"mode", mode, origin("MCP_SKILLS_PATH", "MCP_HOST_METER_FILE", "MCP_DATA_DIR", "MCP_BLOB_BASE_URL")},
		{"roots", strings.Join(f.Roots, string(os.PathListSeparator)), string(f.RootsFrom)},
		{"skills at most", fmt.Sprint(f.MaxSkills), origin("MCP_SKILL_MAX")},
		{"grants", grants, origin("MCP_SKILL_RUN")},
		{"policy", f.Policy.Name, origin("MCP_SKILL_POLICY")},
		{"network", string(f.Policy.Network), "policy " + f.Policy.Name},
		{"proxy", proxy, origin("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")},
		{"disabled skills", orDefault(strings.Join(f.Disabled, ", "), "none"), origin("MCP_SKILL_DISABLE")},
		{"protocol", f.Protocol, origin("MCP_PROTOCOL")},
		{"watch", fmt.Sprint(f.Watch), origin("MCP_SKILL_WATCH")},
		{"audit file", orDefault(f.AuditPath, "none"), origin("MCP_SKILL_AUDIT")},
		{"data folder", orDefault(f.DataDir, "none"), origin("MCP_DATA_DIR")},
		{"confirmation mode", string(gate.Mode), origin("MCP_CONFIRM_MODE")},
		{"confirmation prompts", prompts, origin("MCP_CONFIRM_ELICITATION")},
		{"approval lasts", lasts, origin("MCP_CONFIRM_TTL_SECONDS")},
		{"prompt waits", fmt.Sprintf("%.0f s", gate.Wait.Seconds()), origin("MCP_CONFIRM_WAIT_SECONDS")},
		{"approval key", key, origin("MCP_CONFIRM_SECRET", "MCP_HOST_CONFIRM_SECRET")},
		{"run unscrubbed", fmt.Sprint(f.AllowUnscrubbed), origin("MCP_SKILL_ALLOW_UNSCRUBBED")},
	}, append(f.Warnings, warnings...), nil
}
