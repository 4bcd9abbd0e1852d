//go:build unix

package store

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// lockFolder locks a folder itself, so nothing is left in it afterwards.
func lockFolder(dir string, until time.Time) (*flock.Flock, error) {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if ok, err := lock.TryLockContext(ctx, retry); err != nil || !ok {
		return nil, fmt.Errorf("lock the folder %s (another skill-mcp may be changing it): %w", dir, err)
	}
	return lock, nil
}
