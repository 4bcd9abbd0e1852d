package egress

import (
	"strings"
	"sync"
	"sync/atomic"

	"skill-mcp/internal/egresswire"
)

// recorder counts what a run did. It is safe for use by several goroutines.
type recorder struct {
	mu          sync.Mutex
	way         string
	hosts       []*hostCount
	byHost      map[string]*hostCount
	refused     []egresswire.Refusal
	byRefusal   map[egresswire.Refusal]int
	refusedMore int64
	dropped     egresswire.Dropped
	halfOpen    func() int64 // counted by the network stack, or nil
}

// hostCount is the entry of one host; its counters are added to while bytes
// move, without a lock.
type hostCount struct {
	name                         string
	connections, failed, in, out atomic.Int64
}

func newRecorder() *recorder {
	return &recorder{
		way:       "none",
		byHost:    map[string]*hostCount{},
		byRefusal: map[egresswire.Refusal]int{},
	}
}

func (r *recorder) setWay(way string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.way = way
}

// onEvidence takes the counter of connection requests the stack dropped.
func (r *recorder) onEvidence(halfOpen func() int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halfOpen = halfOpen
}

// host is the entry of a host, or the shared one when there are too many.
func (r *recorder) host(name string) *hostCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.byHost[name]; h != nil {
		return h
	}
	if len(r.hosts) >= egresswire.MaxHosts-1 {
		name = egresswire.OtherHosts
	}
	h := r.byHost[name]
	if h == nil {
		h = &hostCount{name: name}
		r.hosts = append(r.hosts, h)
		r.byHost[name] = h
	}
	return h
}

// refuse counts one refusal.
func (r *recorder) refuse(unsafeTarget string, reason egresswire.Reason, detail string) {
	key := egresswire.Refusal{Target: printable(unsafeTarget), Reason: reason, Detail: detail}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.byRefusal[key]; ok {
		r.refused[at].Count++
		return
	}
	if len(r.refused) >= egresswire.MaxRefused {
		r.refusedMore++
		return
	}
	r.byRefusal[key] = len(r.refused)
	key.Count = 1
	r.refused = append(r.refused, key)
}

func (r *recorder) dropConnection() { r.drop(&r.dropped.Connections) }
func (r *recorder) dropHalfOpen()   { r.drop(&r.dropped.HalfOpen) }
func (r *recorder) dropQuery()      { r.drop(&r.dropped.DNSQueries) }
func (r *recorder) dropName()       { r.drop(&r.dropped.Names) }

func (r *recorder) drop(counter *int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*counter++
}

// evidence is the state at this moment.
func (r *recorder) evidence() egresswire.Evidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := egresswire.Evidence{
		Way:         r.way,
		Hosts:       make([]egresswire.Host, 0, len(r.hosts)),
		Refused:     append([]egresswire.Refusal{}, r.refused...),
		RefusedMore: r.refusedMore,
		Dropped:     r.dropped,
	}
	if r.halfOpen != nil {
		out.Dropped.HalfOpen += r.halfOpen()
	}
	for _, h := range r.hosts {
		out.Hosts = append(out.Hosts, egresswire.Host{
			Host:        h.name,
			Connections: h.connections.Load(),
			Failed:      h.failed.Load(),
			BytesIn:     h.in.Load(),
			BytesOut:    h.out.Load(),
		})
	}
	return out
}

// maxTarget is the longest target kept: a name and a port.
const maxTarget = 253 + 6

// printable keeps what a name or address is made of. The rest comes from the
// run and ends up before a person's eyes.
func printable(s string) string {
	if len(s) > maxTarget {
		s = s[:maxTarget]
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune(".-_:[]*/", c):
			return c
		}
		return '?'
	}, s)
}
