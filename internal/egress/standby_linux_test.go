package egress

import (
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
)

func TestAwaitHosts(t *testing.T) {
	told, err := egresswire.Encode(egresswire.KindHosts, egresswire.Hosts{Hosts: []string{"a.test", "*.b.test"}})
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := egresswire.Encode(egresswire.KindHosts, egresswire.Hosts{Hosts: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		message []byte
		close   bool
		told    bool
		fails   bool
	}{
		"a run":                      {message: told, told: true},
		"no run in time":             {},
		"a monitor that is gone":     {close: true},
		"a host that is none":        {message: unknown, told: true, fails: true},
		"another message":            {message: []byte("a{}"), fails: true},
		"a message of another shape": {message: []byte(`h{"hosts":["a.test"],"more":1}`), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[1])
			if row.message != nil {
				if err := unix.Send(pair[0], row.message, 0); err != nil {
					t.Fatal(err)
				}
			}
			if row.close {
				unix.Close(pair[0])
			} else {
				defer unix.Close(pair[0])
			}
			c := egresswire.Config{Mode: egresswire.ModeTUN}
			got, err := awaitHosts(pair[1], &c, 20*time.Millisecond)
			if got != row.told || (err != nil) != row.fails {
				t.Fatalf("told %v, %v", got, err)
			}
			if got && !row.fails && !slices.Equal(c.Hosts, []string{"a.test", "*.b.test"}) {
				t.Errorf("hosts %v", c.Hosts)
			}
		})
	}
}

// TestProcessThatWaitsEndsWithTheMonitor: it is confined before it is told of
// a run, serves none, and has nothing to report.
func TestProcessThatWaitsEndsWithTheMonitor(t *testing.T) {
	egressEnd, childEnd, err := egresswire.HandoverPair()
	if err != nil {
		t.Fatal(err)
	}
	defer childEnd.Close()
	p, err := egresswire.Start(egresswire.Options{Path: binaryPath(), Config: egresswire.Config{Mode: egresswire.ModeTUN}, Handover: egressEnd})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for range 2 {
		if ready, err := p.WaitReady(runTimeout); err != nil || !ready.Seccomp {
			t.Fatalf("%+v %v", ready, err)
		}
	}
	if _, err := p.Stop(5 * time.Second); !errors.Is(err, egresswire.ErrEnded) {
		t.Errorf("a report of no run: %v", err)
	}
	select {
	case <-p.Ended():
	default:
		t.Error("the process is still there")
	}
}
