package httpserve

import (
	"sync"
	"time"

	"skill-mcp/internal/rpc"
)

// session is one client of the old era.
type session struct {
	rpc  *rpc.Session
	feed *feed // where list_changed goes while the client listens

	used time.Time // when a request was last begun or ended
	busy int       // requests and streams in progress
}

// sessions keeps them by id. The zero value needs byID, max and idle.
type sessions struct {
	max  int
	idle time.Duration

	mu   sync.Mutex
	byID map[string]*session
}

// open begins a session; the one unused for longest makes room for it. ok is
// false when all of them are in use.
func (t *sessions) open(d *rpc.Dispatcher) (one *session, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= t.max && !t.evict() {
		return nil, false
	}
	one = &session{feed: &feed{}, used: time.Now(), busy: 1}
	one.rpc = d.Open(one.feed)
	t.byID[one.rpc.ID()] = one
	return one, true
}

func (t *sessions) evict() bool {
	var oldest *session
	for _, one := range t.byID {
		if one.busy == 0 && (oldest == nil || one.used.Before(oldest.used)) {
			oldest = one
		}
	}
	if oldest == nil {
		return false
	}
	t.drop(oldest)
	return true
}

// take finds a session and marks it in use; release undoes that.
func (t *sessions) take(id string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byID[id]
	if one != nil {
		one.busy++
		one.used = time.Now()
	}
	return one
}

func (t *sessions) release(one *session) {
	t.mu.Lock()
	one.busy--
	one.used = time.Now()
	t.mu.Unlock()
}

// close ends a session at the client's wish.
func (t *sessions) close(one *session) {
	t.mu.Lock()
	t.drop(one)
	t.mu.Unlock()
}

// drop forgets a session and ends what it has in flight. Precondition: t.mu is held.
func (t *sessions) drop(one *session) {
	delete(t.byID, one.rpc.ID())
	one.rpc.HangUp()
	one.rpc.CancelAll()
	one.feed.close()
}

// sweep drops the sessions that have been unused for too long.
func (t *sessions) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byID {
		if one.busy == 0 && now.Sub(one.used) > t.idle {
			t.drop(one)
		}
	}
}

func (t *sessions) all() []*rpc.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*rpc.Session, 0, len(t.byID))
	for _, one := range t.byID {
		list = append(list, one.rpc)
	}
	return list
}

// feed passes a session's own messages to the stream the client has opened
// with GET. While there is none they are left out: list_changed says no more
// than "look again", and a client that does not listen will.
type feed struct {
	mu     sync.Mutex
	stream *stream
	closed bool
}

func (f *feed) Queue(frame []byte, droppable bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stream != nil {
		f.stream.Queue(frame, droppable)
	}
}

func (f *feed) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stream != nil {
		f.stream.Wake()
	}
}

// Flush only wakes: the stream's own goroutine writes.
func (f *feed) Flush() { f.Wake() }

// attach makes st the stream, unless there is one.
func (f *feed) attach(st *stream) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stream != nil || f.closed {
		return false
	}
	f.stream = st
	return true
}

func (f *feed) detach() {
	f.mu.Lock()
	f.stream = nil
	f.mu.Unlock()
}

// close ends the stream for good.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.stream != nil {
		f.stream.finish()
	}
}
