package capture

import (
	"testing"
	"time"
)

func TestDrainTellsHeldPipesFromSlowReading(t *testing.T) {
	c, err := New(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if c.Drain(time.Millisecond, time.Millisecond) != true {
		t.Error("the test holds both write ends, which is not seen")
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
