package stdio

import (
	"context"
	"errors"
	"io"
	"time"

	"skill-mcp/internal/rpc"
)

// Options bounds the end of a session. The zero value is what a host expects.
type Options struct {
	// Grace is how long the calls that were read may still take once no more is
	// read; 0 is 2 s, so that `printf … | skill-mcp` gets its answers.
	Grace time.Duration
	// Limit bounds the whole end, from the reason to stop until Serve returns;
	// 0 is 4.5 s: a host kills after 5 s, and main has to exit within that.
	Limit time.Duration
	// Now ends Serve at once, with ErrForced: the second signal. Nil: never.
	Now <-chan struct{}
}

// ErrForced is what Serve returns when it was told to end at once.
var ErrForced = errors.New("stdio: ended at once by a second signal")

// Serve reads requests from in and answers them on out until in ends, ctx is
// done or out breaks. Then it reads no more, lets what was read be answered
// within Options.Grace, cancels what is left, and returns nil when all is sent
// or Options.Limit has passed. An error is ErrForced, or in could not be read.
func Serve(ctx context.Context, d *rpc.Dispatcher, in io.Reader, out io.Writer, opts Options) error {
	if opts.Grace == 0 {
		opts.Grace = 2 * time.Second
	}
	if opts.Limit == 0 {
		opts.Limit = 4500 * time.Millisecond
	}
	w := newWriter(out)
	quit := make(chan struct{})
	defer close(quit)
	go w.run(quit)
	s := d.Open(w)
	defer s.HangUp()

	r := newReceiver(s, w, newLineReader(in, rpc.MaxMessage))
	go r.run(0)

	var failed error
	select {
	case failed = <-r.ended:
	case <-ctx.Done():
	case <-w.dead:
	case <-opts.Now:
		return ErrForced
	}
	close(r.stop)
	if err := wind(s, w, opts); err != nil {
		return err
	}
	return failed
}

// wind ends the session: prompts can no longer be answered, calls get their
// grace, the rest is cancelled, and what there is to say is sent.
func wind(s *rpc.Session, w *writer, opts Options) error {
	deadline := time.Now().Add(opts.Limit)
	s.HangUp()
	done := s.Done()
	grace := time.NewTimer(opts.Grace)
	defer grace.Stop()
	limit := time.NewTimer(opts.Limit)
	defer limit.Stop()
	select {
	case <-done:
	case <-w.dead: // nobody is there to read an answer
	case <-grace.C:
	case <-opts.Now:
		return ErrForced
	}
	s.CancelAll()
	select {
	case <-done:
	case <-limit.C:
	case <-opts.Now:
		return ErrForced
	}
	w.drain(deadline)
	return nil
}
