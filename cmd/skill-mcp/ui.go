package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/config"
	"skill-mcp/internal/doctor"
	"skill-mcp/internal/ui"
)

// newUICommand serves the page that an owner looks at.
func newUICommand() *cobra.Command {
	var port uint16
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a local page: skills, what scripts may reach, last runs, the fence",
		Long: `Serves one page on the loopback address and prints its URL. The page shows the
skills and their problems, what each script may reach (reads, writes, hosts,
variables) as a picture, the doctor's table, and the last runs with verdict, time
and memory. It is for looking: it answers only GET and HEAD, and changes nothing.

Skills are read anew for each request; the doctor runs once, at the start. Runs
are those of the servers that write to the file MCP_SKILL_AUDIT, as seen from
here; without that variable there is no record to show.

Only who knows the token in the URL gets the page. Ctrl-C ends it.

Exit codes: 0 ended by a signal, 2 a wrong command line or configuration, or the
port is taken.`,
		Example: `  skill-mcp ui
  SKILLS_DIR=~/skills skill-mcp ui --port 8800
  MCP_SKILL_AUDIT=~/skill-mcp.log skill-mcp ui`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serveUI(c, port) },
	}
	c.Flags().Uint16Var(&port, "port", 0, "listen on this `PORT` of 127.0.0.1 (default a free one)")
	return c
}

// serveUI serves the page until a signal comes.
func serveUI(c *cobra.Command, port uint16) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
	s, err := openLook(ctx, log)
	if err != nil {
		return err
	}
	defer s.close()
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	token := ui.NewToken()
	h, err := ui.New(ln.Addr(), token, ui.Source{Look: s.look, Doctor: examination(ctx)}, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	fmt.Fprintf(c.OutOrStdout(), "http://%s/%s/\n", ln.Addr(), token)
	fmt.Fprintln(c.ErrOrStderr(), "skill-mcp: open this address in a browser; whoever has it can read the page; Ctrl-C ends it")
	return h.Serve(ctx, ln)
}

// looking is a session whose skills are read anew for each look.
type looking struct {
	*session
	served *served
}

// look reads the skills and asks the helper about their scripts.
func (l looking) look(ctx context.Context) (ui.Facts, error) {
	view := l.served.scan(ctx)
	if err := ctx.Err(); err != nil {
		return ui.Facts{}, err
	}
	l.server.Replace(view)
	f := ui.Facts{Overview: l.server.Overview(ctx), Time: time.Now()}
	f.Runs, f.RunsFrom = auditedRuns(l.served.cfg)
	return f, nil
}

// openLook is a session that lives on without a helper: what is served can be
// looked at all the same.
func openLook(ctx context.Context, log *slog.Logger) (looking, error) {
	s, view, err := openSession(ctx, toLook)
	if err != nil {
		return looking{}, err
	}
	view.log = log
	return looking{s, view}, nil
}

// mostRuns is how many runs the page shows.
const mostRuns = 25

// auditedRuns are the last runs that the audit has, and whose they are.
func auditedRuns(cfg config.Front) ([]ui.Run, string) {
	if cfg.AuditPath == "" {
		return nil, "There is no record of runs: set MCP_SKILL_AUDIT to a file, for the server and for this page, and its runs appear here."
	}
	entries, err := audit.Last(cfg.AuditPath, audit.Run, mostRuns)
	if err != nil {
		return nil, err.Error()
	}
	runs := make([]ui.Run, 0, len(entries))
	for _, e := range entries {
		at, _ := time.Parse(time.RFC3339Nano, e.Time) // of another program's line: the zero time
		runs = append(runs, ui.Run{
			Time: at, Skill: e.Skill, Script: e.Script, Verdict: e.Verdict, ExitCode: e.ExitCode, Signal: e.Signal,
			DurationMs: e.DurationMs, PeakMemoryBytes: e.PeakMemoryBytes,
		})
	}
	if len(runs) == 0 {
		return nil, fmt.Sprintf("The audit file %s has no run yet.", cfg.AuditPath)
	}
	return runs, fmt.Sprintf("The newest runs of all servers that write to the audit file %s.", cfg.AuditPath)
}

// examination runs the doctor once, beside the page.
func examination(ctx context.Context) func(context.Context) (ui.Examination, error) {
	var e ui.Examination
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Report, failed = doctor.Run(ctx, os.LookupEnv)
		e.Time = time.Now()
		e.Note = "Probe scripts ran through the helper, as a server's runs do: for each layer something that must work and something that must be refused."
	}()
	return func(ctx context.Context) (ui.Examination, error) {
		select {
		case <-done:
			return e, failed
		case <-ctx.Done():
			return ui.Examination{}, fmt.Errorf("wait for the doctor: %w", ctx.Err())
		}
	}
}
