package stdio

import (
	"os"
	"testing"
	"time"
)

func TestSignalsAreCounted(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after []time.Duration // of each signal, since the first
		now   bool
	}{
		{"one signal ends in order", []time.Duration{0}, false},
		{"a repeat within 500 ms is the same wish", []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond}, false},
		{"a later one ends at once", []time.Duration{0, 100 * time.Millisecond, 501 * time.Millisecond}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, quit, now := make(chan os.Signal), make(chan struct{}), make(chan struct{})
			first, step := 0, -1
			base := time.Unix(1000, 0)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				watch(got, quit, func() { first++ }, now, func() time.Time { step++; return base.Add(tc.after[step]) })
			}()
			for range tc.after {
				got <- os.Interrupt
			}
			close(quit)
			<-ended
			forced := false
			select {
			case <-now:
				forced = true
			default:
			}
			if first != 1 || forced != tc.now {
				t.Errorf("ended in order %d times, at once: %v", first, forced)
			}
		})
	}
}
