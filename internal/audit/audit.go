// Package audit writes what the gate decided and what ran, one JSON object a
// line, for an owner who asked for it with MCP_SKILL_AUDIT.
//
// It holds names, digests and verdicts: never a value of a variable, an
// argument or a byte of output. It opens no file to write; package auditfile
// does, for appending, so that a line is one write. A file that was moved away
// is replaced between two lines; one that was copied and truncated goes on from
// its start.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// The events.
const (
	Preview  = "preview"  // something was shown for approval; nothing ran
	Approval = "approval" // an approval was used up; a run follows
	Refusal  = "refusal"  // nothing ran; the reason says why
	Run      = "run"      // a script ran and ended
)

// The ways to an approval.
const (
	Prompt = "prompt" // the client asked the person
	Token  = "token"  // preview first, then the same call with the token
)

// Entry is one line. Members that are zero are left out.
type Entry struct {
	Time            string `json:"time"` // RFC 3339, milliseconds, UTC; set by Add
	Event           string `json:"event"`
	Skill           string `json:"skill"`
	Script          string `json:"script"`
	Rail            string `json:"rail,omitempty"`
	Digest          string `json:"digest,omitempty"`          // of the skill's bundle, lower-case hex
	Args            int    `json:"args,omitempty"`            // how many
	Reason          string `json:"reason,omitempty"`          // of a refusal
	Verdict         string `json:"verdict,omitempty"`         // of a run
	ExitCode        *int   `json:"exitCode,omitempty"`        // of a run that exited
	Signal          string `json:"signal,omitempty"`          // of a run that did not
	DurationMs      int64  `json:"durationMs,omitempty"`      // of a run
	PeakMemoryBytes int64  `json:"peakMemoryBytes,omitempty"` // of a run; 0 = not measured
}

// maxText bounds what callers wrote: a line is one write.
const maxText = 512

// Log takes entries. A nil *Log takes and drops them.
type Log struct {
	mu  sync.Mutex
	w   io.WriteCloser
	now func() time.Time
}

// New makes a log that writes to w, which it then owns.
func New(w io.WriteCloser) *Log { return &Log{w: w, now: time.Now} }

// Replace has every later line written to w, and closes what was written to.
func (l *Log) Replace(w io.WriteCloser) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.w
	l.w = w
	if err := old.Close(); err != nil {
		return fmt.Errorf("close the audit that was moved away: %w", err)
	}
	return nil
}

// Add writes one line. An error means that it is not known to be written.
func (l *Log) Add(e Entry) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = l.now().UTC().Format("2006-01-02T15:04:05.000Z")
	for _, s := range []*string{&e.Skill, &e.Script, &e.Reason} {
		*s = short(*s)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	if _, err := l.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// short cuts a text; what it breaks of a character becomes U+FFFD in the line.
func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	return s[:maxText] + "…"
}
