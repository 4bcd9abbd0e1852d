package catalog

import (
	"context"
	"sync"
	"sync/atomic"
)

// Live holds the catalog in force. Readers take the current one and keep it
// for as long as their call lasts; a reload builds a new one beside it and
// swaps it in whole.
type Live struct {
	opts    Options
	reload  sync.Mutex // one reload at a time
	current atomic.Pointer[Catalog]
}

// NewLive scans once and gives the holder of what was found.
func NewLive(ctx context.Context, opts Options) *Live {
	opts.hashes = newHashCache()
	l := &Live{opts: opts}
	l.current.Store(Scan(ctx, opts))
	return l
}

// Current gives the catalog in force. It never changes afterwards.
func (l *Live) Current() *Catalog { return l.current.Load() }

// Reload scans again and puts what it found in force. It keeps the old catalog
// and gives the error of ctx when that ends first.
func (l *Live) Reload(ctx context.Context) (*Catalog, error) {
	l.reload.Lock()
	defer l.reload.Unlock()
	next := Scan(ctx, l.opts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.current.Store(next)
	return next, nil
}
