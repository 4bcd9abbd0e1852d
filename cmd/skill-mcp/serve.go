package main

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"skill-mcp/internal/config"
	"skill-mcp/internal/httpserve"
)

// newServeCommand serves MCP: standard input and output, or HTTP.
func newServeCommand() *cobra.Command {
	var h config.HTTP
	var tokenFile string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over stdio, or over HTTP with --http",
		Long: `Serves MCP over standard input and output, as a client that starts the server
expects. With --http it serves streamable HTTP instead, on the loopback address
only, unless a bearer token is given: then on any address.`,
		Example: `  skill-mcp serve
  skill-mcp serve --http 127.0.0.1:8765
  skill-mcp serve --http 192.0.2.7:8765 --token-file /etc/skill-mcp/token`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkHTTP(&h, tokenFile); err != nil {
				return err
			}
			return serve(h)
		},
	}
	c.Flags().StringVar(&h.Listen, "http", "", "serve streamable HTTP on `ADDRESS:PORT`")
	c.Flags().StringVar(&tokenFile, "token-file", "", "`FILE` whose first line is the bearer token that clients must send")
	c.Flags().StringSliceVar(&h.Allowed, "allow-origin", nil, "accept browsers' requests from this `ORIGIN` too")
	c.Flags().StringSliceVar(&h.Addresses, "allow-host", nil, "accept this `NAME` in the Host header too")
	c.Flags().IntVar(&h.IdleSecs, "idle", 1800, "`SECONDS` after which a session without traffic ends")
	return c
}

// checkHTTP applies the one rule of the HTTP transport: no token, no address
// that others can reach.
func checkHTTP(h *config.HTTP, tokenFile string) error {
	if h.Listen == "" {
		if tokenFile != "" {
			return errors.New("--token-file needs --http")
		}
		return nil
	}
	address, err := netip.ParseAddrPort(h.Listen)
	if err != nil {
		return fmt.Errorf("--http %q: write a numeric address and a port, such as 127.0.0.1:8765", h.Listen)
	}
	if h.IdleSecs < 1 {
		return fmt.Errorf("--idle is at least 1 second, not %d", h.IdleSecs)
	}
	if tokenFile != "" {
		if h.Token, err = httpserve.ReadToken(tokenFile); err != nil {
			return err
		}
	}
	if h.Token == "" && !address.Addr().IsLoopback() {
		return fmt.Errorf("refused to listen on %s without a bearer token: others could reach it; give --token-file, or listen on 127.0.0.1", address)
	}
	return nil
}
