package spawn

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// Starting a child takes longer than fencing it in: a Go program, its
// namespaces, its groups. None of that depends on the script, so the next
// child is born while nothing runs, and waits at the step go: in its
// namespaces and groups, with nothing of a run in its memory. It ends with the
// monitor, as a run does.

// expect has the next child born for runs like s.
//
// Precondition: no other method runs at the same time, as for all of Host.
func (h *Host) expect(s Spec) {
	if h.coming != nil || h.broken != nil || h.closed {
		return
	}
	// Of the spec only what a birth reads: not an environment, not a descriptor.
	s = Spec{Policy: s.Policy, Limits: s.Limits, Network: s.Network, DataDir: s.DataDir, Exec: Program{Path: s.Exec.Path, Read: s.Exec.Read}}
	coming := make(chan *Run, 1)
	h.coming = coming
	h.remounted() // what changed until now the child will see
	go func() {
		r, err := h.birth(s, h.lacks, false, true)
		if err != nil {
			r = nil // the next start finds out why by itself
		}
		coming <- r
	}()
}

// takeStandby gives the child that waits, when it was born for runs like s.
func (h *Host) takeStandby(s Spec, lacks map[report.Layer]lack, probe bool) *Run {
	if h.coming == nil {
		return nil
	}
	r := <-h.coming
	h.coming = nil
	if r == nil {
		return nil
	}
	if probe || h.remounted() || len(lacks) != len(r.lacks) || s.Network != r.spec.Network || s.Limits != r.spec.Limits ||
		s.Policy.Name != r.spec.Policy.Name || !slices.Equal(s.Policy.Layers, r.spec.Policy.Layers) {
		r.abandon()
		return nil
	}
	return r
}

// remounted reports whether the mounts of this process have changed since it was
// asked last. A child that waits has a copy of them as they were at its birth.
func (h *Host) remounted() bool {
	return h.mounts == nil || poll(int(h.mounts.Fd()), unix.POLLPRI, 0)
}

// dismiss ends the child that waits.
func (h *Host) dismiss() {
	if h.coming != nil {
		if r := <-h.coming; r != nil {
			r.abandon()
		}
		h.coming = nil
	}
}

// firstRun is what the probe expects the first run to be like.
func firstRun(p policy.Policy) Spec {
	return Spec{Policy: p, Limits: p.Limits.Merge(policy.Defaults()), Network: p.Network, Timeout: time.Minute}
}
