// Package runner is the front's end of the wall: it asks the monitor for the
// plan of a run or for the run itself and waits for the answer.
//
// It cannot start a process, open a file or see a value of the environment.
// The MCP surface calls it. When the monitor dies or breaks the protocol every
// waiting and later call gets an error that says so; the front reads on.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"skill-mcp/internal/wire"
)

// How long the monitor may take. It answers in milliseconds; these are the
// ends after which it is held for broken and the wall is closed.
const (
	planWait  = 15 * time.Second // hashing a large script on a slow disk
	setupWait = 30 * time.Second // set-up and tear-down of a run around its timeout
	endWait   = 10 * time.Second // after a cancel: 2 s grace, 2 s kill, 0.25 s drain, 1 s counters, margin
)

// ErrMonitor is wrapped by every error that means the monitor is gone; no
// script can run until the server is started again.
var ErrMonitor = errors.New("the helper that runs scripts has ended; restart the server to run scripts again")

// RefusedError is the monitor's no, or the runner's own when it is busy.
type RefusedError struct{ wire.Refused }

// Error says what was refused and why.
func (e *RefusedError) Error() string { return e.Message }

// Outcome is a run that ended by itself or was ended. Stdout and Stderr hold
// at most wire.MaxOutput bytes each, as the script wrote them; see [Text].
type Outcome struct {
	wire.Result
	Stdout, Stderr []byte
}

// Runner speaks with one monitor. Its methods may be called from any goroutine.
type Runner struct {
	conn   *wire.Conn
	closer io.Closer
	turn   chan struct{} // holds one token: who has it may send a request
	run    chan struct{} // holds one token: who has it may run
	ready  chan struct{} // closed when Ready is in hello
	dead   chan struct{} // closed when the monitor is gone, after err is set

	begin sync.Once

	mu    sync.Mutex
	hello wire.Ready
	err   error
	asked chan answer // the Plan or Run that waits for its first answer
	cur   *call       // the run in flight

	see func(wire.Kind, []byte) // Watch; nil = nobody looks
}

// answer is one reply of the monitor, decoded.
type answer struct {
	planned *wire.Planned
	result  *wire.Result
	refused *wire.Refused
}

// call is a run in flight. The reader fills it; done hands it over.
type call struct {
	out      Outcome
	started  bool
	progress chan wire.Progress // holds the latest
	done     chan answer        // result or refusal, one
}

// New reads from conn until it ends; the caller gives conn up.
func New(conn io.ReadWriteCloser) *Runner {
	r := &Runner{
		conn: wire.NewConn(wire.Front, conn), closer: conn,
		turn: make(chan struct{}, 1), run: make(chan struct{}, 1),
		ready: make(chan struct{}), dead: make(chan struct{}),
	}
	r.turn <- struct{}{}
	r.run <- struct{}{}
	go r.read()
	return r
}

// Close ends the wall: the monitor kills what runs and exits.
func (r *Runner) Close() error { return r.closer.Close() }

// Watch has every piece of a run's captured output shown to see as it comes,
// for a person at a terminal; it is kept in the outcome all the same. see is
// called from the reader and must not wait for this runner.
//
// Precondition: no run is in flight.
func (r *Runner) Watch(see func(k wire.Kind, piece []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.see = see
}

// Done is closed when the monitor is gone.
func (r *Runner) Done() <-chan struct{} { return r.dead }

// Begin has the monitor look at this host, once; it returns at once. Until then
// the monitor rests, so that its probes do not compete with the front's first
// answer. Whoever needs the answer calls Ready, which begins by itself.
func (r *Runner) Begin() {
	r.begin.Do(func() {
		go func() {
			if err := r.conn.Send(wire.KindBegin, nil); err != nil {
				_ = r.fail(err) // kept for callers
			}
		}()
	})
}

// Ready waits for the monitor's word on this host.
func (r *Runner) Ready(ctx context.Context) (wire.Ready, error) {
	r.Begin()
	select {
	case <-r.ready:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.hello, nil
	default:
	}
	select {
	case <-r.ready:
		return r.Ready(ctx)
	case <-r.dead:
		return wire.Ready{}, r.cause()
	case <-ctx.Done():
		return wire.Ready{}, fmt.Errorf("wait for the helper: %w", ctx.Err())
	}
}

// Plan asks what req would run and get. It may be called while a run lasts.
func (r *Runner) Plan(ctx context.Context, req wire.Request) (wire.Planned, error) {
	if err := r.take(ctx, r.turn); err != nil {
		return wire.Planned{}, err
	}
	reply, err := r.ask(wire.KindPlan, req)
	if err != nil {
		return wire.Planned{}, err
	}
	timer := time.NewTimer(planWait)
	defer timer.Stop()
	select {
	case a := <-reply:
		if a.refused != nil {
			return wire.Planned{}, &RefusedError{*a.refused}
		}
		return *a.planned, nil
	case <-r.dead:
		return wire.Planned{}, r.cause()
	case <-ctx.Done():
		return wire.Planned{}, fmt.Errorf("wait for the plan: %w", ctx.Err())
	case <-timer.C:
		return wire.Planned{}, r.fail(fmt.Errorf("no plan within %v", planWait))
	}
}

// Run runs req and waits for its end, config being the mcporter configuration
// of the run (nil = none; req.Config must agree). progress, when not nil, is
// called from this goroutine. When ctx ends the run is cancelled and its
// result is still waited for. Another run in flight gives a [RefusedError]
// with wire.CodeBusy at once.
func (r *Runner) Run(ctx context.Context, req wire.Request, config []byte, progress func(wire.Progress)) (Outcome, error) {
	select {
	case <-r.run:
	default:
		return Outcome{}, Busy()
	}
	defer func() { r.run <- struct{}{} }()
	if err := r.take(ctx, r.turn); err != nil {
		return Outcome{}, err
	}
	c := &call{progress: make(chan wire.Progress, 1), done: make(chan answer, 1)}
	r.mu.Lock()
	r.cur = c
	r.mu.Unlock()
	if err := r.conn.SendChunks(wire.KindConfig, config); err != nil {
		return Outcome{}, r.fail(err)
	}
	if _, err := r.ask(wire.KindRun, req); err != nil {
		return Outcome{}, err
	}
	return r.await(ctx, c, time.Duration(req.TimeoutMs)*time.Millisecond+setupWait, progress)
}

// await waits for the end of a run, at most bound and at most endWait after
// ctx ended.
func (r *Runner) await(ctx context.Context, c *call, bound time.Duration, progress func(wire.Progress)) (Outcome, error) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case a := <-c.done:
			if a.refused != nil {
				return Outcome{}, &RefusedError{*a.refused}
			}
			c.out.Result = *a.result
			return c.out, nil
		case p := <-c.progress:
			if progress != nil {
				progress(p)
			}
		case <-cancelled:
			cancelled = nil
			timer.Reset(endWait)
			_ = r.conn.Send(wire.KindCancel, nil) // refused when the result is already here; then done follows
		case <-r.dead:
			return Outcome{}, r.cause()
		case <-timer.C:
			return Outcome{}, r.fail(errors.New("the run did not end in time"))
		}
	}
}

// Busy is the refusal of a second run.
func Busy() *RefusedError {
	return &RefusedError{wire.Refused{
		Code: wire.CodeBusy, Message: "another skill_run is already in flight",
		Hint: "one script runs at a time: wait for its result, then call again",
	}}
}

// InFlight reports whether a run is under way, so that a second is refused
// before its token is spent.
func (r *Runner) InFlight() bool { return len(r.run) == 0 }

// take waits for a token.
func (r *Runner) take(ctx context.Context, token chan struct{}) error {
	select {
	case <-r.ready:
	default:
		if _, err := r.Ready(ctx); err != nil {
			return err
		}
	}
	select {
	case <-r.dead:
		return r.cause()
	default:
	}
	select {
	case <-token:
		return nil
	case <-r.dead:
		return r.cause()
	case <-ctx.Done():
		return fmt.Errorf("wait for the helper: %w", ctx.Err())
	}
}

// ask sends a request. Precondition: the caller took turn; the reader puts it
// back when the first answer is there.
func (r *Runner) ask(k wire.Kind, req wire.Request) (<-chan answer, error) {
	reply := make(chan answer, 1)
	r.mu.Lock()
	r.asked = reply
	r.mu.Unlock()
	if err := r.conn.SendValue(k, req); err != nil {
		return nil, r.fail(err)
	}
	return reply, nil
}

// fail closes the wall because of err and returns what a caller is told.
func (r *Runner) fail(err error) error {
	r.mu.Lock()
	if r.err == nil {
		r.err = fmt.Errorf("%w (%w)", ErrMonitor, err)
	}
	err = r.err
	r.mu.Unlock()
	_ = r.closer.Close() // the reader ends by it
	return err
}

// cause is why the monitor is gone.
func (r *Runner) cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
