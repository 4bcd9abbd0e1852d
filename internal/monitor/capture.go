package monitor

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

// capture takes in both streams of a run: the first MiB of each is kept, all
// of it is counted and drained, so that a script never sees a full pipe.
type capture struct {
	out, err stream
	flood    chan struct{} // closed when both streams together passed the bound
	drained  chan struct{} // closed when both have ended
	left     atomic.Int64  // bytes until flood
}

// stream is one of the two. Its mutex guards kept and tail.
type stream struct {
	r, w  *os.File
	total atomic.Int64

	mu   sync.Mutex
	kept []byte
	tail []byte
}

// newCapture makes both pipes and starts reading.
func newCapture(flood int64) (*capture, error) {
	c := &capture{flood: make(chan struct{}), drained: make(chan struct{})}
	c.left.Store(flood)
	var err error
	if c.out.r, c.out.w, err = pipe(); err != nil {
		return nil, err
	}
	if c.err.r, c.err.w, err = pipe(); err != nil {
		c.closeAll()
		return nil, err
	}
	var both sync.WaitGroup
	for _, s := range []*stream{&c.out, &c.err} {
		both.Go(func() { s.pump(c.count) })
	}
	go func() {
		both.Wait()
		close(c.drained)
	}()
	return c, nil
}

// count takes n bytes from the flood bound and reports when it is passed.
func (c *capture) count(n int) {
	if after := c.left.Add(int64(-n)); after < 0 && after+int64(n) >= 0 {
		close(c.flood)
	}
}

// started gives up the write ends, which the script holds now.
func (c *capture) started() {
	_ = c.out.w.Close()
	_ = c.err.w.Close()
}

// drain waits until both streams have ended, at most for a time that nothing
// extends, then ends them and says whether somebody still held a pipe. Where
// nobody does, what is left in the pipes is finite and is read all the same: a
// busy machine must not cost a script its last words.
func (c *capture) drain(most, rest time.Duration) (held bool) {
	defer c.closeAll()
	if c.wait(most) {
		return false
	}
	if held = c.out.held() || c.err.held(); held {
		return true
	}
	return !c.wait(rest)
}

// wait waits for the end of both streams, at most for d.
func (c *capture) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.drained:
		return true
	case <-timer.C:
		return false
	}
}

// closeAll closes what is open; a reader in the middle of a read ends by it.
func (c *capture) closeAll() {
	for _, f := range []*os.File{c.out.r, c.out.w, c.err.r, c.err.w} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// progress counts what there is so far.
func (c *capture) progress(start time.Time) wire.Progress {
	return wire.Progress{
		ElapsedMs: time.Since(start).Milliseconds(), StdoutBytes: c.out.total.Load(),
		StderrBytes: c.err.total.Load(), LastLine: lastLine(c.err.last()),
	}
}

// pump reads until the stream ends or is closed.
func (s *stream) pump(count func(int)) {
	buf := make([]byte, readSize)
	for {
		n, err := s.r.Read(buf)
		if n > 0 {
			s.total.Add(int64(n))
			s.keep(buf[:n])
			count(n)
		}
		if err != nil {
			return
		}
	}
}

// keep holds on to what fits and to the last bytes.
func (s *stream) keep(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, b[:min(len(b), wire.MaxOutput-len(s.kept))]...)
	s.tail = append(s.tail, b[max(0, len(b)-tailSize):]...)
	s.tail = s.tail[max(0, len(s.tail)-tailSize):]
}

// first returns what was kept and whether there was more.
func (s *stream) first() (kept []byte, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, s.total.Load() > int64(len(s.kept))
}

// last returns the last bytes as they came.
func (s *stream) last() string {
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
