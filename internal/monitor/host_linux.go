package monitor

import (
	"skill-mcp/internal/fence"
	"skill-mcp/internal/policy"
)

// fenced is a fence.Host whose runs are this package's.
type fenced struct{ *fence.Host }

// Start starts one run behind the fence.
func (f fenced) Start(s fence.Spec) (run, error) {
	r, err := f.Host.Start(s)
	if err != nil {
		return nil, err // not r: a nil *fence.Run would not be a nil run
	}
	return r, nil
}

// newHost probes this system once.
func newHost(p policy.Policy) (host, error) {
	return fenced{fence.Probe(p, fence.ProbeOptions{})}, nil
}
