package catalog

import (
	"context"
	"os"
	"sync"
	"time"
)

const (
	// maxHashes bounds the memory of the cache to about 15 MiB.
	maxHashes = 100000
	// settled is how long a file must have been left alone before its hash is
	// kept: two changes within the grain of a file system's clock (up to 2 s)
	// look like one.
	settled = 2 * time.Second
)

// hashCache keeps the hashes of files that have not changed: a bundle is
// digested on each call that runs something. It is safe for concurrent use.
type hashCache struct {
	mu   sync.Mutex
	sums map[fileID]string
}

func newHashCache() *hashCache { return &hashCache{sums: map[fileID]string{}} }

func (c *hashCache) get(id fileID) (sum string, ok bool) {
	if id == (fileID{}) {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, ok = c.sums[id]
	return sum, ok
}

// hash reads an open file through. It keeps the hash when the file has not
// changed meanwhile nor shortly before.
func (c *hashCache) hash(ctx context.Context, f *os.File, info os.FileInfo, buf []byte) (n int64, sum string, err error) {
	start := time.Now()
	n, sum, err = readThrough(ctx, f, buf)
	if err != nil {
		return 0, "", err
	}
	before := identity(info)
	after, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	changed := time.Unix(0, max(before.mtime, before.ctime))
	if before == (fileID{}) || identity(after) != before || n != before.size || start.Sub(changed) < settled {
		return n, sum, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sums) >= maxHashes {
		clear(c.sums)
	}
	c.sums[before] = sum
	return n, sum, nil
}
