package httpserve

import (
	"net/http"
	"sync"
	"time"
)

// dropAbove is how many bytes may wait for a client before progress and log
// lines are left out.
const dropAbove = 4 << 20

// stream is the way back of one HTTP request. It is an rpc.Sink: frames are
// queued by whoever has them and written by the goroutine that serves the HTTP
// request, the only one that may touch its ResponseWriter.
type stream struct {
	kick chan struct{} // room for one: "look at the queue"

	mu       sync.Mutex
	queue    [][]byte
	waiting  int
	finished bool // nothing more will be queued
}

func newStream() *stream { return &stream{kick: make(chan struct{}, 1)} }

func (st *stream) Queue(frame []byte, droppable bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if droppable && st.waiting > dropAbove {
		return
	}
	st.queue = append(st.queue, frame)
	st.waiting += len(frame)
}

func (st *stream) Wake() {
	select {
	case st.kick <- struct{}{}:
	default:
	}
}

// Flush does nothing: it follows the answer, and so does finish, which tells
// the answer alone (one JSON object) from one that has company (a stream).
func (st *stream) Flush() {}

// finish says that nothing more will come.
func (st *stream) finish() {
	st.mu.Lock()
	st.finished = true
	st.mu.Unlock()
	st.Wake()
}

// take empties the queue.
func (st *stream) take() (frames [][]byte, finished bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	frames, st.queue, st.waiting = st.queue, nil, 0
	return frames, st.finished
}

// events writes a text/event-stream.
type events struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	// begun: the header is out, there is no way back to a single object.
	begun bool
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, rc: http.NewResponseController(w)}
}

func (e *events) begin() error {
	if e.begun {
		return nil
	}
	e.begun = true
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	return e.rc.Flush()
}

// send writes frames as events; none at all is a comment that keeps the
// connection alive.
func (e *events) send(frames [][]byte) error {
	if err := e.begin(); err != nil {
		return err
	}
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeWait)) // not every writer has one
	if len(frames) == 0 {
		if _, err := e.w.Write([]byte(": still here\n\n")); err != nil {
			return err
		}
	}
	for _, frame := range frames {
		// A frame is one line, so that it is one data field.
		for _, part := range [][]byte{[]byte("event: message\ndata: "), frame, []byte("\n\n")} {
			if _, err := e.w.Write(part); err != nil {
				return err
			}
		}
	}
	return e.rc.Flush()
}
