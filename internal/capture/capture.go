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
	pipeSize = 1 << 20
	readSize = 256 << 10 // one read; larger gains nothing measurable
	tailSize = 4 << 10   // the last words kept for verdict and progress
	lineMax  = 120       // characters of a line in progress (the contract, 5)
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

// Stream is one of the two. Its mutex guards kept and tail.
type Stream struct {
	r     *os.File
	W     *os.File     // the write end, for the script
	total atomic.Int64 // all bytes, kept or not

	mu   sync.Mutex
	kept []byte
	told int // bytes of kept that More gave
	tail []byte
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

// pump reads until the stream ends or is closed.
func (s *Stream) pump(came func(n int, kept bool)) {
	buf := make([]byte, readSize)
	for {
		n, err := s.r.Read(buf)
		if n > 0 {
			s.total.Add(int64(n))
			came(n, s.keep(buf[:n]))
		}
		if err != nil {
			return
		}
	}
}

// keep holds on to what fits and to the last bytes, and reports whether anything
// of b was kept.
func (s *Stream) keep(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.kept)
	s.kept = append(s.kept, b[:min(len(b), wire.MaxOutput-before)]...)
	s.tail = append(s.tail, b[max(0, len(b)-tailSize):]...)
	s.tail = s.tail[max(0, len(s.tail)-tailSize):]
	return len(s.kept) > before
}

// More returns what was kept since the last call, to be told.
func (s *Stream) More() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := s.kept[s.told:]
	s.told = len(s.kept)
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
