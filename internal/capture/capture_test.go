package capture

import (
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/wire"
)

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "half": "", "one\n": "one", "one\ntwo": "one", "one\r\ntwo\r\nrest": "two", "\xff\n": "\uFFFD",
		strings.Repeat("é", 130) + "\n": strings.Repeat("é", 120),
	} {
		if got := lastLine(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestMoreIsToldOnce: each kept byte is told once, and what is not kept is said
// to be cut.
func TestMoreIsToldOnce(t *testing.T) {
	c, err := New(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	told := ""
	for _, piece := range []string{"one ", "two ", strings.Repeat("x", wire.MaxOutput), "lost"} {
		if _, err := c.Out.W.WriteString(piece); err != nil {
			t.Fatal(err)
		}
		if piece == "lost" {
			continue
		}
		select {
		case <-c.Fresh:
			told += string(all(&c.Out))
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was told")
		}
	}
	c.Started()
	c.Drain(10*time.Second, time.Second)
	told += string(all(&c.Out))
	if !strings.HasPrefix(told, "one two xxx") || len(told) != wire.MaxOutput || !c.Out.Cut() || c.Err.Cut() {
		t.Errorf("%d bytes, cut %v", len(told), c.Out.Cut())
	}
}

// all gives what More gives until it has nothing more, or has told too much.
func all(s *Stream) (kept []byte) {
	for more := s.More(); len(more) > 0 && len(kept) <= 2*wire.MaxOutput; more = s.More() {
		kept = append(kept, more...)
	}
	return kept
}
