// Package capture takes in what a run writes: the first MiB of each stream is
// kept, all of it is drained and counted.
//
// It starts and ends nothing; the monitor does, by what this package counts.
package capture

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skill-mcp/internal/wire"
)

const (
	// pipeSize lets a script write its 1 MiB and exit at once without losing
	// it; a 64 KiB pipe also drains at half the speed.
	pipeSize  = 1 << 20
	chunkSize = 64 << 10 // one read, and one piece of what is kept; divides wire.MaxOutput
	tailSize  = 4 << 10  // the last words kept for verdict and progress
	lineMax   = 120      // characters of a line in progress (the contract, 5)
)

// Capture takes in both streams of a run: the first MiB of each is kept, all
// of it is counted and drained, so that a script never sees a full pipe.
type Capture struct {
	Out, Err Stream
	Flood    chan struct{} // closed when both streams together passed the bound
	Fresh    chan struct{} // holds a token when there is more to tell
	drained  chan struct{} // closed when both have ended
	left     atomic.Int64  // bytes until flood
}

// Stream is one of the two. Its mutex guards what is kept and the tail.
type Stream struct {
	r     *os.File
	W     *os.File     // the write end, for the script
	total atomic.Int64 // all bytes, kept or not

	mu     sync.Mutex
	chunks [][]byte // what is kept and was not told; the last one may have room
	kept   int      // bytes kept, told or not
	told   int      // bytes that More gave
	tail   []byte
}

// New makes both pipes and starts reading.
func New(flood int64) (*Capture, error) {
	c := &Capture{Flood: make(chan struct{}), Fresh: make(chan struct{}, 1), drained: make(chan struct{})}
	c.left.Store(flood)
	var err error
	if c.Out.r, c.Out.W, err = pipe(); err != nil {
		return nil, err
	}
	if c.Err.r, c.Err.W, err = pipe(); err != nil {
		c.Close()
		return nil, err
	}
	var both sync.WaitGroup
	for _, s := range []*Stream{&c.Out, &c.Err} {
		both.Go(func() { s.pump(c.came) })
	}
	go func() {
		both.Wait()
		close(c.drained)
	}()
	return c, nil
}

// came takes n bytes from the flood bound, reports when it is passed, and says
// when there is more to tell.
func (c *Capture) came(n int, kept bool) {
	if kept {
		select {
		case c.Fresh <- struct{}{}:
		default:
		}
	}
	if after := c.left.Add(int64(-n)); after < 0 && after+int64(n) >= 0 {
		close(c.Flood)
	}
}

// Started gives up the write ends, which the script holds now.
func (c *Capture) Started() {
	_ = c.Out.W.Close()
	_ = c.Err.W.Close()
}

// Drain waits until both streams have ended, at most for a time that nothing
// extends, then ends them and says whether somebody still held a pipe. Where
// nobody does, what is left in the pipes is finite and is read all the same: a
// busy machine must not cost a script its last words.
func (c *Capture) Drain(most, rest time.Duration) (held bool) {
	defer c.Close()
	if c.wait(most) {
		return false
	}
	if held = c.Out.held() || c.Err.held(); held {
		return true
	}
	return !c.wait(rest)
}

// wait waits for the end of both streams, at most for d.
func (c *Capture) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.drained:
		return true
	case <-timer.C:
		return false
	}
}

// Close closes what is open; a reader in the middle of a read ends by it.
func (c *Capture) Close() {
	for _, f := range []*os.File{c.Out.r, c.Out.W, c.Err.r, c.Err.W} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Progress counts what there is so far.
func (c *Capture) Progress(start time.Time) wire.Progress {
	return wire.Progress{
		ElapsedMs: time.Since(start).Milliseconds(), StdoutBytes: c.Out.total.Load(),
		StderrBytes: c.Err.total.Load(), LastLine: lastLine(c.Err.Last()),
	}
}

// pump reads until the stream ends or is closed: the first MiB into what is
// kept, of the rest what is needed to know its last words.
func (s *Stream) pump(came func(n int, kept bool)) {
	var null *os.File
	var passing []byte
	for err := error(nil); err == nil; {
		into := s.room()
		kept := into != nil
		if !kept && passing == nil {
			passing = make([]byte, 4*tailSize)
			null, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0) // without it all is read
			defer null.Close()
		}
		if !kept {
			into = passing
		}
		var n int
		n, err = s.r.Read(into)
		s.took(into[:n], kept)
		if !kept && err == nil {
			n += s.drop(null)
		}
		if n > 0 {
			s.total.Add(int64(n))
			came(n, kept)
		}
	}
}

// room gives the memory to read into, nil once all is kept that will be.
func (s *Stream) room() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.chunks) - 1
	if s.kept >= wire.MaxOutput {
		return nil
	} else if n < 0 || len(s.chunks[n]) == cap(s.chunks[n]) {
		s.chunks, n = append(s.chunks, make([]byte, 0, chunkSize)), n+1
	}
	return s.chunks[n][len(s.chunks[n]):cap(s.chunks[n])]
}

// took remembers the last bytes, and holds on to b when it was read into the room.
func (s *Stream) took(b []byte, room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.chunks) - 1; room {
		s.chunks[n] = s.chunks[n][:len(s.chunks[n])+len(b)]
		s.kept += len(b)
	}
	b = b[max(0, len(b)-tailSize):]
	s.tail = append(append(s.tail[:0], s.tail[max(0, len(s.tail)+len(b)-tailSize):]...), b...)
}

// More returns what was kept and not yet told, a piece at a time, and nothing
// when all is told. It is the caller's: nothing here holds on to it.
func (s *Stream) More() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chunks) == 0 {
		return nil
	}
	more := s.chunks[0]
	s.told += len(more)
	if s.chunks[0] = more[len(more):]; cap(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	return more
}

// Cut reports whether there was more than More gave.
func (s *Stream) Cut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total.Load() > int64(s.told)
}

// Last returns the last bytes as they came.
func (s *Stream) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.tail)
}

// lastLine returns the last complete line of a text, cut at lineMax characters.
func lastLine(tail string) string {
	end := strings.LastIndexByte(tail, '\n')
	if end < 0 {
		return ""
	}
	line := strings.TrimRight(tail[strings.LastIndexByte(tail[:end], '\n')+1:end], "\r")
	runes := []rune(strings.ToValidUTF8(line, "\uFFFD"))
	return string(runes[:min(len(runes), lineMax)])
}

// Total is how many bytes came, kept or not.
func (s *Stream) Total() int64 { return s.total.Load() }
