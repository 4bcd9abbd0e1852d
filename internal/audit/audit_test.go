package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOneLineForEachEntry(t *testing.T) {
	var b bytes.Buffer
	l := New(open{&b})
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

func (broken) Close() error { return nil }

// open is a writer that has nothing to close.
type open struct{ io.Writer }

func (open) Close() error { return nil }

func TestALogThatCannotWriteSaysSo(t *testing.T) {
	if err := New(broken{}).Add(Entry{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatal(err)
	}
	var none *Log
	if err := none.Add(Entry{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheLastEntriesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if got, err := Last(path, Run, 3); err != nil || got != nil {
		t.Fatalf("of no file: %v, %v", got, err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := New(f)
	for i := range 5000 { // more than the tail that is read
		if err := errors.Join(l.Add(Entry{Event: Preview, Skill: "demo"}), l.Add(Entry{Event: Run, Skill: "demo", DurationMs: int64(i)})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString("no entry\n{\"event\":\"run\",\"durat"); err != nil { // a line that is being written
		t.Fatal(err)
	}
	got, err := Last(path, Run, 3)
	if err != nil || len(got) != 3 || got[0].DurationMs != 4999 || got[2].DurationMs != 4997 {
		t.Errorf("%v: %+v", err, got)
	}
	if _, err := Last(filepath.Dir(path), Run, 3); err == nil {
		t.Error("a folder was read")
	}
}

func FuzzNewest(f *testing.F) {
	f.Add([]byte("{\"event\":\"run\"}\n"))
	f.Add([]byte("{\"event\":\"run\",\"exitCode\":null}\n\n{}\n[]\nnull\n{\"event\":\"run\",\"exitCode\":1e99}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, e := range newest(text, Run, 5) {
			if e.Event != Run {
				t.Errorf("%+v", e)
			}
		}
	})
}
