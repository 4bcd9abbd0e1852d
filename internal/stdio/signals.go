package stdio

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// repeatWindow is how long after the first signal another one is taken for the
// same wish: a terminal's Ctrl-C reaches a process twice when its parent passes
// it on.
const repeatWindow = 500 * time.Millisecond

// Signals makes SIGINT and SIGTERM end ctx: the first one, or one more within
// 500 ms of it. A later one closes now, at which main exits without waiting.
// stop gives the signals back their usual meaning.
func Signals(parent context.Context) (ctx context.Context, now <-chan struct{}, stop func()) {
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	// A line for a standard error that nobody reads must not end the process:
	// Go dies of SIGPIPE on descriptors 1 and 2 unless it is being caught. It
	// is caught and not ignored, because a child would inherit the latter.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(parent)
	at := make(chan struct{})
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		watch(got, quit, cancel, at, time.Now)
	}()
	return ctx, at, func() {
		signal.Stop(got)
		signal.Stop(broken)
		close(quit)
		done.Wait()
		cancel()
	}
}

// watch is the rule for repeated signals; clock is for its test.
func watch(got <-chan os.Signal, quit <-chan struct{}, first func(), now chan<- struct{}, clock func() time.Time) {
	var began time.Time
	for {
		select {
		case <-got:
		case <-quit:
			return
		}
		switch at := clock(); {
		case began.IsZero():
			began = at
			first()
		case at.Sub(began) > repeatWindow:
			close(now)
			return
		}
	}
}
