package confirm

import (
	"sync"
	"time"
)

// store remembers which nonces were used. An error means: nobody knows, so
// nothing may run.
type store interface {
	// prune forgets what expired before now; such a token is refused anyway.
	prune(now time.Time) error
	// has says whether nonce was used.
	has(nonce string) (bool, error)
	// claim marks nonce as used and says whether this call was the first.
	claim(nonce string, expiry time.Time) (first bool, err error)
}

// memory is a store that ends with the process. The zero value is empty.
type memory struct {
	mu   sync.Mutex
	used map[string]time.Time // nonce -> expiry
}

func (m *memory) prune(now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n, expiry := range m.used {
		if now.After(expiry) {
			delete(m.used, n)
		}
	}
	return nil
}

func (m *memory) has(nonce string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.used[nonce]
	return ok, nil
}

func (m *memory) claim(nonce string, expiry time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.used[nonce]; ok {
		return false, nil
	}
	if m.used == nil {
		m.used = map[string]time.Time{}
	}
	m.used[nonce] = expiry
	return true, nil
}

// both asks two stores: a nonce is unused when neither knows it. The memory
// stays right when a script of an earlier run removed files of the directory.
type both struct{ first, second store }

func (b both) prune(now time.Time) error {
	if err := b.first.prune(now); err != nil {
		return err
	}
	return b.second.prune(now)
}

func (b both) has(nonce string) (bool, error) {
	if used, err := b.first.has(nonce); used || err != nil {
		return used, err
	}
	return b.second.has(nonce)
}

func (b both) claim(nonce string, expiry time.Time) (bool, error) {
	if first, err := b.first.claim(nonce, expiry); !first || err != nil {
		return false, err
	}
	return b.second.claim(nonce, expiry)
}
