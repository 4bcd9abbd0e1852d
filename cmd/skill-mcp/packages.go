package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"skill-mcp/internal/config"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// packageFlags are what every command on packages has in common.
type packageFlags struct {
	store  string
	into   string
	asJSON bool
}

func (f *packageFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.store, "store", "", "the `DIR` that keeps state (default $XDG_DATA_HOME/skill-mcp)")
	c.Flags().StringVar(&f.into, "into", "", "the `DIR` of skills (default skills in the store)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON, and no progress")
}

// places gives the store and the folder of skills as absolute paths.
func (f *packageFlags) places() (storeDir, into string, err error) {
	if storeDir = f.store; storeDir == "" {
		if storeDir, err = store.DefaultDir(); err != nil {
			return "", "", err
		}
	}
	if storeDir, err = filepath.Abs(storeDir); err != nil {
		return "", "", err
	}
	if into = f.into; into == "" {
		into = filepath.Join(storeDir, "skills")
	}
	into, err = filepath.Abs(into)
	return storeDir, into, err
}

// importer opens the store and gives an importer that shows its progress. The
// caller closes what close stands for.
func (f *packageFlags) importer(stderr io.Writer) (im *pack.Importer, done func(), err error) {
	dir, into, err := f.places()
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(dir)
	if err != nil {
		return nil, nil, withCode(exitProblem, err)
	}
	m := newMeter(stderr, f.asJSON)
	im = &pack.Importer{
		Store: s, Into: into, Owner: ownerName(), Version: config.Version, Progress: m.step,
		GitHub: pack.GitHub{API: os.Getenv("MCP_SKILL_GITHUB_API"), Token: gitHubToken()},
	}
	return im, func() { m.finish(); s.Close() }, nil
}

// recoverFirst finishes what an earlier command left that was cut off, so that
// no command looks at half a change. It makes no store where there is none.
func (f *packageFlags) recoverFirst(ctx context.Context) error {
	dir, _, err := f.places()
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	s, err := store.Open(dir)
	if err != nil {
		return withCode(exitProblem, err)
	}
	defer s.Close()
	if !s.Unfinished() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recoverWait)
	defer cancel()
	l, err := s.Lock(ctx)
	if err != nil {
		return withCode(exitProblem, err)
	}
	l.Unlock()
	return nil
}

// recoverWait is how long another skill-mcp may hold the store meanwhile.
const recoverWait = 30 * time.Second

// ownerName is what a token is bound to: whoever runs the command.
func ownerName() string { return fmt.Sprintf("uid:%d", os.Getuid()) }

func gitHubToken() string {
	if t := os.Getenv("GITHUB_TOKEN"); t != "" {
		return t
	}
	return os.Getenv("GH_TOKEN")
}

// answer prints a value as JSON.
func answer(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// refusal ends a command that did its work and the answer is no. With --json
// the answer is on stdout too.
func (f *packageFlags) refusal(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if f.asJSON {
		out := map[string]any{"error": map[string]string{"message": err.Error()}}
		var r *pack.Refusal
		if errors.As(err, &r) {
			out["error"] = r
		}
		if e := answer(c.OutOrStdout(), out); e != nil {
			return e
		}
	}
	return withCode(exitProblem, err)
}
