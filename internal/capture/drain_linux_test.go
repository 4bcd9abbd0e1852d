package capture

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"skill-mcp/internal/wire"
)

func TestDrainTellsHeldPipesFromSlowReading(t *testing.T) {
	c, err := New(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if held := c.Drain(time.Millisecond, 10*time.Second); !held || time.Since(begun) > 5*time.Second {
		t.Errorf("the test holds both write ends: held %v after %v", held, time.Since(begun))
	}
	if c, err = New(1 << 30); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Out.W.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	c.Started()
	if held := c.Drain(0, 30*time.Second); held || c.Out.Total() != 1<<20 {
		t.Errorf("held %v after %d bytes", held, c.Out.Total())
	}
}

// writeBoth makes a capture and writes to its streams.
func writeBoth(t *testing.T, flood int64, out, err []byte) *Capture {
	t.Helper()
	c, fail := New(flood)
	if fail != nil {
		t.Fatal(fail)
	}
	for f, text := range map[*os.File][]byte{c.Out.W: out, c.Err.W: err} {
		if _, fail := f.Write(text); fail != nil {
			t.Fatal(fail)
		}
	}
	c.Started()
	if c.Drain(30*time.Second, 0) {
		t.Fatal("the streams did not end")
	}
	return c
}

func TestOutputIsKeptToItsBoundAndCounted(t *testing.T) {
	for _, size := range []int{0, 1, wire.MaxOutput - 1, wire.MaxOutput, wire.MaxOutput + 1, 3*wire.MaxOutput + 7} {
		text := make([]byte, size)
		for i := range text {
			text[i] = byte(i % 251)
		}
		c := writeBoth(t, 1<<30, text, text)
		for _, s := range []*Stream{&c.Out, &c.Err} {
			kept := all(s)
			cut := s.Cut()
			if !bytes.Equal(kept, text[:min(size, wire.MaxOutput)]) || cut != (size > wire.MaxOutput) || s.Total() != int64(size) {
				t.Errorf("%d bytes: %d kept, cut %v, %d counted", size, len(kept), cut, s.Total())
			}
			if again := all(s); len(again) != 0 {
				t.Errorf("%d bytes: %d are told again", size, len(again))
			}
			if s.Last() != string(text[max(0, size-tailSize):]) {
				t.Errorf("%d bytes: the last are not the last", size)
			}
		}
	}
}

func TestAFloodOfBothStreamsIsTold(t *testing.T) {
	const bound = 100_000
	for _, c := range []struct {
		out, err int
		flood    bool
	}{
		{bound, 0, false}, {0, bound, false}, {bound / 2, bound / 2, false},
		{bound + 1, 0, true}, {0, bound + 1, true}, {bound / 2, bound/2 + 1, true}, {bound * 10, bound * 10, true},
	} {
		got := writeBoth(t, bound, make([]byte, c.out), make([]byte, c.err))
		told := false
		select {
		case <-got.Flood:
			told = true
		default:
		}
		if told != c.flood {
			t.Errorf("%d and %d bytes: flood %v", c.out, c.err, told)
		}
	}
}

// TestTheLastWordsOfAFloodAreTheLast: whatever the sizes of the writes, all is
// counted, and what is remembered is what came last, also while the script is
// silent and has not ended.
func TestTheLastWordsOfAFloodAreTheLast(t *testing.T) {
	c, err := New(1 << 60)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	draw := rand.New(rand.NewPCG(1, 2))
	var last []byte
	total := int64(0)
	for _, most := range []int{wire.MaxOutput, 3 * wire.MaxOutput, 2*tailSize + 1, 10, 100_000} {
		for range 20 {
			text := make([]byte, draw.IntN(most)+1)
			for i := range text {
				text[i] = byte(draw.Uint32())
			}
			if _, err := c.Err.W.Write(text); err != nil {
				t.Fatal(err)
			}
			total += int64(len(text))
			last = append(last, text...)
			last = last[max(0, len(last)-tailSize):]
		}
		for deadline := time.Now().Add(10 * time.Second); c.Err.Total() < total && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if c.Err.Total() != total || c.Err.Last() != string(last) {
			t.Fatalf("writes of up to %d bytes: %d of %d counted, or the last %d are not the last", most, c.Err.Total(), total, len(c.Err.Last()))
		}
	}
}
