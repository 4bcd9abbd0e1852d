package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOneLineForEachEntry(t *testing.T) {
	var b bytes.Buffer
	l := New(&b)
	l.now = func() time.Time { return time.UnixMilli(1_800_000_000_123) }
	three := 3
	for _, e := range []Entry{
		{Event: Preview, Skill: "demo", Script: "a\nb.js", Rail: Token, Digest: "00", Args: 2},
		{Event: Run, Skill: "demo", Script: "a.js", Verdict: "exited", ExitCode: &three, DurationMs: 5},
		{Event: Refusal, Skill: strings.Repeat("é", 10_000), Reason: "TOKEN_INVALID"},
	} {
		if err := l.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3 || len(lines[2]) > 1000 {
		t.Fatalf("%q", lines)
	}
	if want := `{"time":"2027-01-15T08:00:00.123Z","event":"preview","skill":"demo","script":"a\nb.js","rail":"token","digest":"00","args":2}`; lines[0] != want {
		t.Errorf("got %s", lines[0])
	}
	for _, line := range lines {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Error(err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestALogThatCannotWriteSaysSo(t *testing.T) {
	if err := New(broken{}).Add(Entry{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatal(err)
	}
	var none *Log
	if err := none.Add(Entry{}); err != nil {
		t.Fatal(err)
	}
}
