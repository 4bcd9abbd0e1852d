package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"skill-mcp/internal/pack"
)

// meter shows how far a command is: a bar on a terminal, a line every second
// elsewhere, nothing when quiet.
type meter struct {
	w        io.Writer
	quiet    bool
	terminal bool
	bar      *progressbar.ProgressBar
	what     string
	last     time.Time
}

// lineEvery is how often a line is written where there is no terminal.
const lineEvery = time.Second

func newMeter(w io.Writer, quiet bool) *meter {
	f, ok := w.(*os.File)
	// The first line waits too: what takes less than a second needs none.
	return &meter{w: w, quiet: quiet, terminal: ok && term.IsTerminal(int(f.Fd())), last: time.Now()}
}

// step shows one step. It is called often and does little most times.
func (m *meter) step(s pack.Step) {
	switch {
	case m.quiet:
	case m.terminal:
		m.draw(s)
	case time.Since(m.last) >= lineEvery:
		m.last = time.Now()
		fmt.Fprintln(m.w, line(s))
	}
}

func line(s pack.Step) string {
	text := s.What
	if s.Bytes > 0 {
		text += " " + size(s.Bytes)
	}
	if s.TotalBytes > 0 {
		text += " of " + size(s.TotalBytes)
	}
	if s.Entries > 0 {
		text += fmt.Sprintf(", %d", s.Entries)
		if s.TotalEntries > 0 {
			text += fmt.Sprintf(" of %d", s.TotalEntries)
		}
		text += " files"
	}
	return text
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

func (m *meter) draw(s pack.Step) {
	if m.bar == nil || m.what != s.What {
		m.finish()
		total := s.TotalBytes
		if total == 0 {
			total = -1
		}
		m.what = s.What
		m.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(m.w), progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	m.bar.Describe(fmt.Sprintf("%s, %d files", s.What, s.Entries))
	// A bar that cannot be drawn is no reason to stop the work.
	_ = m.bar.Set64(s.Bytes)
}

// finish takes the bar away.
func (m *meter) finish() {
	if m.bar != nil {
		_ = m.bar.Finish() // as in draw
		m.bar = nil
	}
}
