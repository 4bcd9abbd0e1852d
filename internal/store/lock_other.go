//go:build !unix

package store

import (
	"time"

	"github.com/gofrs/flock"
)

// lockFolder: a folder cannot be locked here; the store's own lock is all.
func lockFolder(string, time.Time) (*flock.Flock, error) { return nil, nil }
