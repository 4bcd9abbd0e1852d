package monitor

import (
	"fmt"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/auditfile"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/spawn"
)

// fenced is a spawn.Host whose runs are this package's.
type fenced struct{ *spawn.Host }

// Start starts one run behind the fence.
func (f fenced) Start(s spawn.Spec) (run, error) {
	r, err := f.Host.Start(s)
	if err != nil {
		return nil, err // not r: a nil *spawn.Run would not be a nil run
	}
	return r, nil
}

// newHost probes this system once.
func newHost(p policy.Policy) (host, error) {
	return fenced{spawn.Probe(p, spawn.ProbeOptions{})}, nil
}

// harden makes this process unreadable for others of its user and the reaper
// of what its children leave behind, so that the fence can find it.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the helper undumpable: %w", err)
	}
	if d, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || d != 0 {
		return fmt.Errorf("make the helper undumpable: it reads back as %d (%v)", d, err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
}

// lendAudit hands the owner's audit file to the front whenever it asks, beside
// everything else: the path is the owner's, and a question names nothing.
func lendAudit(path string) error {
	if _, err := unix.FcntlInt(auditfile.MonitorFD, unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return fmt.Errorf("take the audit's socket over: %w", err)
	}
	go auditfile.Serve(auditfile.MonitorFD, path) // ends with the front
	return nil
}
