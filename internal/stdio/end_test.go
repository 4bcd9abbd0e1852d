package stdio

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/rpc"
)

func TestEndOfInputAnswersWhatWasRead(t *testing.T) {
	c := start(t, nil)
	c.call(1, "wait", "{}")
	c.event(c.tool.began)
	_ = c.in.Close()
	close(c.tool.release)
	if m := c.next(); m.text() != "released" {
		t.Errorf("got %s", m.raw)
	}
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}

func TestCallThatOutlivesTheGraceIsEndedAndAnswered(t *testing.T) {
	for name, end := range map[string]func(*client){
		"end of input": func(c *client) { _ = c.in.Close() },
		"signal":       func(c *client) { c.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, func(s *setup) { s.opts.Grace = 50 * time.Millisecond })
			c.call(1, "wait", "{}")
			c.event(c.tool.began)
			began := time.Now()
			end(c)
			if m := c.next(); m.text() != "ended" {
				t.Errorf("got %s", m.raw)
			}
			if err := c.ended(); err != nil || time.Since(began) > 5*time.Second {
				t.Errorf("ended with %v after %v", err, time.Since(began))
			}
		})
	}
}

// stubborn is a reader that ends and a writer that never takes anything.
type stubborn struct{ release chan struct{} }

func (s stubborn) Write([]byte) (int, error) { <-s.release; return 0, io.ErrClosedPipe }

func TestClientThatNeverReadsDoesNotHoldUpTheEnd(t *testing.T) {
	tool := newSurface()
	out := stubborn{make(chan struct{})}
	defer close(out.release)
	d := rpc.New(rpc.Config{Handler: tool.server()})
	began := time.Now()
	err := Serve(t.Context(), d, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), out,
		Options{Grace: 50 * time.Millisecond, Limit: 200 * time.Millisecond})
	if err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("ended with %v after %v", err, time.Since(began))
	}
}

// broken is a pipe without a reader.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenOutputEndsTheServerAndTheCallsInFlight(t *testing.T) {
	tool := newSurface()
	d := rpc.New(rpc.Config{Handler: tool.server()})
	in, feed := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), d, in, broken{}, Options{}) }()
	go func() {
		_, _ = io.WriteString(feed, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`+"\n")
		<-tool.began
		_, _ = io.WriteString(feed, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Serve did not return")
	}
	select {
	case <-tool.cancelled:
	default:
		t.Error("the call in flight was not ended")
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	now := make(chan struct{})
	c := start(t, func(s *setup) { s.opts.Now = now })
	c.call(1, "wait", "{}")
	c.event(c.tool.began)
	c.stop()
	close(now)
	if err := c.ended(); !errors.Is(err, ErrForced) {
		t.Errorf("got %v", err)
	}
}
