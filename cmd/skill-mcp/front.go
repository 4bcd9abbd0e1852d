package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"skill-mcp/internal/config"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/frontlock"
	"skill-mcp/internal/launch"
	"skill-mcp/internal/mcpserver"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/stdio"
)

// serveFront is the front's life: it locks itself, reads the skills, and
// serves until its input ends. It returns the exit code.
func serveFront(cfg config.Front, conn io.ReadWriteCloser) int {
	out, err := stdio.TakeStdout()
	if err != nil {
		return exitCode(err)
	}
	ctx, now, stop := stdio.Signals(context.Background())
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	banner(cfg)
	settings, warnings := confirm.ReadSettings(cfg.Confirm)
	for _, w := range append(cfg.Warnings, warnings...) {
		fmt.Fprintln(os.Stderr, "skill-mcp:", w)
	}
	gate, err := confirm.New(confirm.Config{
		Settings: settings, Key: cfg.Confirm.Key, Store: cfg.SpentStore(),
	})
	if err != nil {
		return exitCode(err)
	}
	defer gate.Close()
	trail, err := openTrail(cfg)
	if err != nil {
		return exitCode(err)
	}
	if err := seal(cfg); err != nil {
		return exitCode(err)
	}
	run := runner.New(conn)
	defer run.Close()
	server, err := mcpserver.New(mcpserver.Deps{Front: cfg, Runner: run, Gate: gate, Log: log, Audit: trail.log})
	if err != nil {
		return exitCode(err)
	}
	f := &served{cfg: cfg, log: log, server: server, trail: trail}
	defer f.keepUp(ctx)()
	err = transport(ctx, cfg, server, out, now)
	if errors.Is(err, errForced) {
		return exitProblem
	}
	return exitCode(err)
}

// banner tells a person who looks at the log what this is.
func banner(cfg config.Front) {
	fmt.Fprintf(os.Stderr, "skill-mcp %s serves third-party skills from %s; their scripts run only when declared, granted and approved, inside the fence of policy %q\n",
		cfg.Version, strings.Join(cfg.Roots, ", "), cfg.Policy.Name)
}

// seal gives up what reading does not need, before the first skill is read,
// and says what does not hold on this system.
func seal(cfg config.Front) error {
	r, err := frontlock.Seal(launch.LockOptions(cfg))
	if err != nil {
		return fmt.Errorf("lock the front: %w", err)
	}
	if cfg.User.UID >= 0 && cfg.User.Reason != "" {
		fmt.Fprintln(os.Stderr, "skill-mcp: the front runs as uid", cfg.User.UID, "because", cfg.User.Reason)
	}
	for _, line := range r.Lines() {
		fmt.Fprintln(os.Stderr, "skill-mcp:", line)
	}
	return nil
}
