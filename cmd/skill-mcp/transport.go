package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"skill-mcp/internal/config"
	"skill-mcp/internal/httpserve"
	"skill-mcp/internal/mcpserver"
	"skill-mcp/internal/stdio"
)

// transport serves until its input ends or a signal comes. errForced means
// that a second signal asked for an end at once.
func transport(ctx context.Context, cfg config.Front, server *mcpserver.Server, out *os.File, now <-chan struct{}) error {
	if cfg.HTTP.Listen == "" {
		err := stdio.Serve(ctx, server.Dispatcher(), os.Stdin, out, stdio.Options{Now: now})
		if errors.Is(err, stdio.ErrForced) {
			return errForced
		}
		return err
	}
	ln, err := listener(cfg.HTTP)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "skill-mcp: serving http://%s/mcp\n", ln.Addr())
	h := httpserve.New(server.Dispatcher(), ln.Addr(), httpserve.Options{
		Token: cfg.HTTP.Token, Hosts: cfg.HTTP.Addresses, Origins: cfg.HTTP.Allowed,
		Idle: time.Duration(cfg.HTTP.IdleSecs) * time.Second, Now: now,
	})
	if err := h.Serve(ctx, ln); errors.Is(err, httpserve.ErrForced) {
		return errForced
	} else if err != nil {
		return err
	}
	return nil
}

// errForced ends the process with code 1: the end was not in order.
var errForced = errors.New("ended at once by a second signal")

// listener takes the socket that launch opened, or opens one where launch
// could not hand any on.
func listener(h config.HTTP) (net.Listener, error) {
	if h.ListenFD == 0 {
		return httpserve.Listen(h.Listen, h.Token)
	}
	f := os.NewFile(uintptr(h.ListenFD), "http")
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over the socket on %s: %w", h.Listen, err)
	}
	return ln, nil
}
