package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"skill-mcp/internal/rpc"
)

// handOver is how long the goroutine that read a request serves it before
// another one goes on reading: longer than a small call takes, so that those
// cost no change of goroutine (which is most of what they would cost), and far
// too short for anyone to notice behind a slow one.
const handOver = 200 * time.Microsecond

// receiver reads lines and has each request served on a goroutine of its own.
// The one that reads serves the request it has read itself; when that takes
// longer than handOver, reading goes over to a new goroutine, and this one ends
// with its request. At any time exactly one goroutine has the turn to read.
type receiver struct {
	s     *rpc.Session
	w     *writer
	lines *lineReader
	stop  chan struct{} // closed by Serve: nothing read from now on is served
	ended chan error    // gets nil at the end of the input, or why it could not be read

	// turn is twice the number of the goroutine whose turn it is to read, plus
	// one while that goroutine serves a request.
	turn atomic.Uint64
}

func newReceiver(s *rpc.Session, w *writer, lines *lineReader) *receiver {
	return &receiver{s: s, w: w, lines: lines, stop: make(chan struct{}), ended: make(chan error, 1)}
}

// run reads as long as it is number's turn.
func (r *receiver) run(number uint64) {
	watch := time.AfterFunc(time.Hour, func() { r.pass(number) })
	defer watch.Stop()
	for {
		call, err := r.read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			r.ended <- err
			return
		}
		if call == nil {
			continue
		}
		r.turn.Store(2*number + 1)
		watch.Reset(handOver)
		call.Run()
		if !r.turn.CompareAndSwap(2*number+1, 2*number) {
			return // somebody else reads on
		}
		watch.Stop()
	}
}

// pass lets a new goroutine read on while number serves its request. A timer
// that fires late finds that it is not serving any more.
func (r *receiver) pass(number uint64) {
	if r.turn.CompareAndSwap(2*number+1, 2*(number+1)) {
		r.run(number + 1)
	}
}

var errStopped = fmt.Errorf("stopped: %w", io.EOF)

// read takes the next line and gives the request in it, if it holds one.
func (r *receiver) read() (*rpc.Call, error) {
	r.w.waitRoom(r.stop)
	l, err := r.lines.next()
	select {
	case <-r.stop:
		return nil, errStopped
	default:
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if l.tooLong {
		r.w.Queue(rpc.Refusal(l.id, rpc.Errorf(rpc.CodeInvalidRequest,
			"read message: the line has more than %d bytes", rpc.MaxMessage)), false)
		r.w.Wake()
		return nil, nil
	}
	return r.s.Receive(context.Background(), append([]byte(nil), l.text...), r.w), nil
}
