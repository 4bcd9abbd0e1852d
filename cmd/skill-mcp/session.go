package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"skill-mcp/internal/confirm"
	"skill-mcp/internal/launch"
	"skill-mcp/internal/mcpserver"
	"skill-mcp/internal/runner"
)

// session is a server of this process's own with one client: this command.
type session struct {
	server *mcpserver.Server
	runner *runner.Runner
	helper *os.Process // nil: there is none
}

// purpose is what a session is for.
type purpose int

const (
	toRun  purpose = iota // needs the helper, and is in the owner's audit
	toLook                // goes on without a helper, and writes nothing
)

// openSession starts the helper as the server does and reads the skills.
func openSession(ctx context.Context, what purpose) (*session, *served, error) {
	cfg, boot, err := launch.Assemble(os.LookupEnv, launch.Options{})
	if err != nil {
		return nil, nil, err
	}
	view := &served{cfg: cfg, log: slog.New(slog.DiscardHandler)}
	if what == toRun {
		if view.trail, err = openTrail(cfg); err != nil {
			return nil, nil, withCode(exitProblem, err)
		}
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails: crypto/rand ends the process instead
	gate, err := confirm.New(confirm.Config{Settings: confirm.Settings{Mode: confirm.AskUser, TTL: time.Hour}, Key: key})
	if err != nil {
		return nil, nil, err
	}
	s := &session{}
	var conn io.ReadWriteCloser
	if conn, s.helper, err = launch.StartMonitor(boot, os.Environ()); err != nil {
		if what == toRun {
			return nil, nil, withCode(exitProblem, err)
		}
		conn = launch.Broken(err.Error())
	}
	s.runner = runner.New(conn)
	s.server, err = mcpserver.New(mcpserver.Deps{Front: cfg, Runner: s.runner, Gate: gate, Log: view.log, Audit: view.trail.log})
	if err != nil {
		s.close()
		return nil, nil, err
	}
	view.server = s.server
	s.server.Replace(view.scan(ctx))
	return s, view, nil
}

// close ends the helper, which ends what runs, and waits for it.
func (s *session) close() {
	s.runner.Close()
	if s.helper != nil {
		_, _ = s.helper.Wait()
	}
}

// call calls skill_run and gives the text of its answer.
func (s *session) call(ctx context.Context, arguments any) (text string, isError bool, err error) {
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "skill_run", "arguments": arguments},
	})
	if err != nil {
		return "", false, err
	}
	raw, err := json.Marshal(s.server.HandleMessage(ctx, message))
	if err != nil {
		return "", false, err
	}
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return "", false, err
	}
	if m.Error != nil {
		return "", false, errors.New(m.Error.Message)
	}
	for _, c := range m.Result.Content {
		text += c.Text
	}
	return text, m.Result.IsError, nil
}
