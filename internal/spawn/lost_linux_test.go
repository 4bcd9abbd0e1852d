package spawn

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// TestAnInitThatEndsIsNoticed has the init give up before it answers: the child
// says so and ends, and does not wait for it. One that waited would outlive a
// monitor that was killed meanwhile.
func TestAnInitThatEndsIsNoticed(t *testing.T) {
	if os.Getuid() != 0 {
		return // without a user of its own the run's init has nothing to give up for
	}
	h := newHost(t, testPolicy())
	p := testPolicy()
	s := firstRun(p)
	s.Exec = probeSpec(t, p).Exec
	r := &Run{host: h, spec: s, lacks: map[report.Layer]lack{}, waited: true, tmp: -1, sock: -1, pidfd: -1, childfd: -1, initfd: -1, done: make(chan struct{})}
	if err := h.prepare(r, false); err != nil {
		t.Fatal(err)
	}
	r.order.UID, r.order.GID = 1<<32-1, 1<<32-1 // to the kernel: leave it as it is, which the init checks
	begin := time.Now()
	if err := h.spawn(r); err != nil {
		t.Fatal(err)
	}
	err := r.await(false)
	if err == nil || !strings.Contains(err.Error(), "wait for the init") {
		t.Errorf("without an init: %v", err)
	}
	r.abandon()
	if took := time.Since(begin); took > startTime/2 {
		t.Errorf("it took %v to notice", took)
	}
	nothingLeft(t, h)
}

// TestARunWithoutHandlesEnds takes every descriptor between the word to the
// child and its answers, so that none is left for the handles of its processes:
// the run is started or refused, and either way it ends in time.
func TestARunWithoutHandlesEnds(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	s.Args = []string{"pid"}
	r, err := h.birth(s, h.lacks, false, false)
	if err != nil {
		t.Fatal(err)
	}
	files, err := h.complete(r, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.send(files); err != nil {
		t.Fatal(err)
	}
	giveBack := takeDescriptors(t)
	begin := time.Now()
	err = r.await(false)
	left := r.Kill(5 * time.Second)
	giveBack()
	if err == nil && r.pidfd >= 0 {
		t.Error("there was a descriptor for the handle")
	}
	if took := time.Since(begin); left != nil || took > 5*time.Second {
		t.Errorf("started: %v; left: %v, after %v", err, left, took)
	}
	r.Close()
	if err == nil {
		<-r.Done()
	}
}

// takeDescriptors leaves this process none to open, until they are given back.
func takeDescriptors(t *testing.T) (giveBack func()) {
	t.Helper()
	var had unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1024, Max: had.Max}); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	return func() {
		for _, fd := range taken {
			unix.Close(fd)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &had); err != nil {
			t.Error(err)
		}
	}
}
