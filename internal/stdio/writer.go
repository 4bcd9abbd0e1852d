package stdio

import (
	"io"
	"sync"
	"time"
)

const (
	// dropAbove is how many bytes may wait before progress and log lines are
	// left out: about 20,000 of them, so that only a client that has stopped
	// reading loses any.
	dropAbove = 4 << 20
	// pauseAbove is how many bytes may wait before no more requests are read: a
	// client that sends and never reads is made to wait, not served from memory.
	pauseAbove = 32 << 20
	// joinBelow is how long a frame may be to be joined with the next into one
	// write.
	joinBelow = 16 << 10
)

// writer sends frames in the order they were put, each with its line end. It
// is an rpc.Sink. Whoever flushes while nobody else does sends everything there
// is, so a result is usually written by the goroutine that made it, without a
// hand-over; the writer's own goroutine sends the rest.
type writer struct {
	out  io.Writer
	kick chan struct{} // room for one: "look at the queue"
	dead chan struct{} // closed when out broke

	mu      sync.Mutex
	queue   [][]byte
	waiting int // bytes in queue and in the batch being written
	writing bool
	broken  error
	room    chan struct{} // closed when waiting falls; nil: nobody waits
}

func newWriter(out io.Writer) *writer {
	return &writer{out: out, kick: make(chan struct{}, 1), dead: make(chan struct{})}
}

// run sends what it is woken for, until quit is closed.
func (w *writer) run(quit <-chan struct{}) {
	for {
		select {
		case <-w.kick:
			w.Flush()
		case <-quit:
			return
		}
	}
}

// Queue puts a frame behind what is queued. See rpc.Sink.
func (w *writer) Queue(frame []byte, droppable bool) {
	w.mu.Lock()
	if w.broken == nil && !(droppable && w.waiting > dropAbove) {
		w.queue = append(w.queue, append(frame, '\n'))
		w.waiting += len(frame) + 1
	}
	w.mu.Unlock()
}

// Wake has the writer's goroutine send the queue. See rpc.Sink.
func (w *writer) Wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// Flush sends what is queued unless someone is doing so. See rpc.Sink.
func (w *writer) Flush() {
	w.mu.Lock()
	if w.writing {
		w.mu.Unlock()
		return
	}
	w.writing = true
	for len(w.queue) > 0 && w.broken == nil {
		batch := w.queue
		w.queue = nil
		w.mu.Unlock()
		n, err := writeAll(w.out, batch)
		w.mu.Lock()
		w.written(n, err)
	}
	w.writing = false
	w.mu.Unlock()
}

// written notes the outcome of a batch. Precondition: w.mu is held.
func (w *writer) written(n int, err error) {
	w.waiting -= n
	if err != nil && w.broken == nil {
		w.broken, w.queue, w.waiting = err, nil, 0
		close(w.dead)
	}
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// writeAll writes the frames, small ones joined, and gives the bytes of the
// batch, written or not.
func writeAll(out io.Writer, batch [][]byte) (n int, err error) {
	var joined []byte
	for i, frame := range batch {
		n += len(frame)
		if err != nil {
			continue
		}
		if len(frame) < joinBelow && (len(joined) > 0 || i+1 < len(batch)) {
			joined = append(joined, frame...)
			if len(joined) < joinBelow && i+1 < len(batch) {
				continue
			}
			frame = joined
		} else if len(joined) > 0 {
			if _, err = out.Write(joined); err != nil {
				continue
			}
		}
		_, err = out.Write(frame)
		joined = nil
	}
	return n, err
}

// waitRoom waits until less than pauseAbove is queued, out broke, or quit.
func (w *writer) waitRoom(quit <-chan struct{}) {
	for {
		room := w.full(pauseAbove)
		if room == nil {
			return
		}
		select {
		case <-room:
		case <-w.dead:
			return
		case <-quit:
			return
		}
	}
}

// full gives a channel that is closed when the queue gets shorter, or nil when
// not more than limit bytes wait.
func (w *writer) full(limit int) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting <= limit || w.broken != nil {
		return nil
	}
	if w.room == nil {
		w.room = make(chan struct{})
	}
	return w.room
}

// drain waits until everything is sent, at most until the deadline.
func (w *writer) drain(deadline time.Time) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for {
		room := w.full(0)
		if room == nil {
			return
		}
		select {
		case <-room:
		case <-w.dead:
			return
		case <-timer.C:
			return
		}
	}
}
