package uplink

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/interp"
)

// Keeper starts egress processes, one of them before its run. Starting one and
// having it confine itself takes longer than all else that mode declared adds
// to a run, and none of it depends on the run: so it is done while a person
// reads what the run would do. The process that waits holds no network, has no
// host to reach and ends with the monitor. The zero value is ready; it is not
// safe for use by several goroutines at once.
type Keeper struct {
	waiting *Uplink
	told    egresswire.Config // what the one that waits was told
	closing sync.WaitGroup
}

// Expect has a process wait for a run with the configuration. One that cannot
// be started is not missed: the run's own start tells why. spare is told its
// pid.
func (k *Keeper) Expect(c egresswire.Config, spare func(pid int)) {
	if k.fits(c) {
		return
	}
	k.dismiss()
	if u, err := k.start(c, spare); err == nil {
		k.waiting, k.told = u, c
	}
}

// Start gives a run its process: the one that waits, or a new one, which gets
// ready beside the child's set-up. It is found beside this program; spare is
// told its pid.
func (k *Keeper) Start(c egresswire.Config, spare func(pid int)) (*Uplink, error) {
	if u := k.waiting; k.fits(c) {
		k.waiting = nil
		if u.process.Tell(c.Hosts) == nil {
			return u, nil
		}
		u.Close()
	}
	k.dismiss()
	u, err := k.start(c, spare)
	if err != nil {
		return nil, err
	}
	if err := u.process.Tell(c.Hosts); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// fits reports whether a process waits that serves runs with c: all but the
// hosts must be equal.
func (k *Keeper) fits(c egresswire.Config) bool {
	if k.waiting == nil {
		return false
	}
	select {
	case <-k.waiting.process.Ended():
		return false
	default:
	}
	told := k.told
	told.Hosts = c.Hosts
	return reflect.DeepEqual(told, c)
}

// dismiss ends the process that waits.
func (k *Keeper) dismiss() {
	k.waiting.Close()
	k.waiting = nil
}

// Close ends the process that waits and waits for what is still being closed.
func (k *Keeper) Close() {
	k.dismiss()
	k.closing.Wait()
}

// start starts a process, which serves nothing yet.
func (k *Keeper) start(c egresswire.Config, spare func(pid int)) (*Uplink, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the egress program: %w", err)
	}
	u := &Uplink{keeper: k}
	var theirs *os.File
	if c.Mode == egresswire.ModeProxy {
		theirs, u.port, err = egresswire.ListenLoopback()
	} else {
		theirs, u.child, err = egresswire.HandoverPair()
	}
	if err != nil {
		return nil, err
	}
	path := filepath.Join(filepath.Dir(self), "skill-egress"+interp.ExeSuffix)
	u.process, err = egresswire.Start(egresswire.Options{Path: path, Config: c, Handover: theirs, Stderr: os.Stderr})
	if err != nil {
		u.Close()
		return nil, err
	}
	spare(u.process.PID())
	return u, nil
}
