package main

import (
	"io"
	"sync"

	"skill-mcp/internal/wire"
)

// spool shows a run's output as it comes without ever holding up who brings it:
// a terminal that was stopped, or a pager, must not keep the helper from ending
// a run in time. It holds at most the 2 MiB that a run may say.
type spool struct {
	out, err io.Writer
	more     chan struct{} // holds a token when there is something to write, closed at the end
	done     chan struct{}

	mu     sync.Mutex
	pieces []piece
	ended  bool // finish was called
}

// piece is some output of one of the two streams.
type piece struct {
	kind wire.Kind
	text []byte
}

// newSpool starts to write; finish must be called.
func newSpool(out, err io.Writer) *spool {
	s := &spool{out: out, err: err, more: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for range s.more {
			s.write()
		}
		s.write()
	}()
	return s
}

// add takes one piece, which nobody changes any more. What comes after the end
// is of a run that was given up, and is dropped.
func (s *spool) add(k wire.Kind, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.pieces = append(s.pieces, piece{k, text})
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// write writes what is there.
func (s *spool) write() {
	s.mu.Lock()
	pieces := s.pieces
	s.pieces = nil
	s.mu.Unlock()
	for _, p := range pieces {
		if p.kind == wire.KindStdout {
			s.out.Write(p.text)
		} else {
			s.err.Write(p.text)
		}
	}
}

// finish waits until everything is written.
func (s *spool) finish() {
	s.mu.Lock()
	s.ended = true
	close(s.more)
	s.mu.Unlock()
	<-s.done
}
