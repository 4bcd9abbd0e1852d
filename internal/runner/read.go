package runner

import (
	"errors"
	"fmt"
	"io"

	"skill-mcp/internal/wire"
)

// read takes in what the monitor says until the wall is closed.
func (r *Runner) read() {
	defer close(r.dead)
	for {
		k, payload, err := r.conn.Receive()
		if err == nil {
			err = r.handle(k, payload)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it closed the connection")
			}
			_ = r.fail(err) // kept for callers
			return
		}
	}
}

// handle takes one frame. The conversation's table has let it pass.
func (r *Runner) handle(k wire.Kind, payload []byte) error {
	switch k {
	case wire.KindReady:
		return take(payload, func(v wire.Ready) { r.hello = v; close(r.ready) }, r)
	case wire.KindPlanned:
		return take(payload, func(v wire.Planned) { r.reply(answer{planned: &v}) }, r)
	case wire.KindStarted:
		return take(payload, func(wire.Started) { r.cur.started = true; r.reply(answer{}) }, r)
	case wire.KindRefused:
		return take(payload, func(v wire.Refused) { r.refuse(answer{refused: &v}) }, r)
	case wire.KindResult:
		return take(payload, func(v wire.Result) { r.end(answer{result: &v}) }, r)
	case wire.KindProgress:
		return take(payload, func(v wire.Progress) { r.cur.latest(v) }, r)
	case wire.KindStdout, wire.KindStderr:
		r.keep(k, payload)
		return nil
	}
	return fmt.Errorf("message %q has no reader", rune(k))
}

// keep appends captured output; the conversation bounds it.
func (r *Runner) keep(k wire.Kind, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := &r.cur.out.Stdout
	if k == wire.KindStderr {
		to = &r.cur.out.Stderr
	}
	*to = append(*to, payload...)
	if r.see != nil {
		r.see(k, payload)
	}
}

// take decodes a payload strictly and gives it to use under the lock.
func take[T any](payload []byte, use func(T), r *Runner) error {
	v, err := wire.Decode[T](payload)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	use(v)
	return nil
}

// reply answers the request that waits and lets the next one be sent.
func (r *Runner) reply(a answer) {
	if r.asked == nil {
		return
	}
	r.asked <- a // has room for one
	r.asked = nil
	r.turn <- struct{}{}
}

// refuse answers the request that waits; when that is the run, it ends it.
func (r *Runner) refuse(a answer) {
	if c := r.cur; c != nil && !c.started {
		r.end(a)
		return
	}
	r.reply(a)
}

// end hands the run in flight to its caller.
func (r *Runner) end(a answer) {
	c := r.cur
	r.cur = nil
	if !c.started {
		r.reply(a)
	}
	c.done <- a // has room for one
}

// latest keeps the newest progress and drops one that nobody took.
func (c *call) latest(p wire.Progress) {
	select {
	case <-c.progress:
	default:
	}
	c.progress <- p
}
