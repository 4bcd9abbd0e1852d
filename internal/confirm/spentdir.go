package confirm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// nonceName is what may become a file name.
var nonceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })

// keepUnreadable is how long an entry whose expiry cannot be read stays: a
// crash between its creation and its content must not free the nonce.
const keepUnreadable = 24 * time.Hour

// directory is a store with one file per nonce: its name is the nonce, its
// content the expiry in decimal epoch milliseconds. A nonce is claimed by
// exclusive creation, so two processes on one folder agree.
type directory struct {
	path string
	mu   sync.Mutex
	root *os.Root
}

// openRoot opens the folder once and keeps it.
func (d *directory) openRoot() (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil {
		return d.root, nil
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("open the folder of spent approvals: %w", err)
	}
	r, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of spent approvals: %w", err)
	}
	d.root = r
	return r, nil
}

func (d *directory) prune(now time.Time) error {
	r, err := d.openRoot()
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(r.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the folder of spent approvals: %w", err)
	}
	for _, e := range entries {
		if !nonceName().MatchString(e.Name()) || !e.Type().IsRegular() || !outdated(r, e, now) {
			continue
		}
		if err := r.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an expired approval: %w", err)
		}
	}
	return nil
}

// outdated says whether an entry's token has expired, or, when its expiry
// cannot be read, whether the entry is a day old.
func outdated(r *os.Root, e fs.DirEntry, now time.Time) bool {
	if f, err := r.Open(e.Name()); err == nil {
		text, err := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		if ms, perr := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && perr == nil {
			return now.UnixMilli() > ms
		}
	}
	info, err := e.Info()
	return err == nil && now.Sub(info.ModTime()) > keepUnreadable
}

func (d *directory) has(nonce string) (bool, error) {
	if !nonceName().MatchString(nonce) {
		return false, errors.New("look up a spent approval: the nonce is not a file name")
	}
	r, err := d.openRoot()
	if err != nil {
		return false, err
	}
	_, err = r.Lstat(nonce)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up a spent approval: %w", err)
	}
	return true, nil
}

func (d *directory) claim(nonce string, expiry time.Time) (bool, error) {
	if !nonceName().MatchString(nonce) {
		return false, errors.New("spend an approval: the nonce is not a file name")
	}
	r, err := d.openRoot()
	if err != nil {
		return false, err
	}
	f, err := r.OpenFile(nonce, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("spend an approval: %w", err)
	}
	_, err = f.WriteString(strconv.FormatInt(expiry.UnixMilli(), 10))
	// The claim must outlive a power failure, or the approval would act twice.
	if serr := f.Sync(); err == nil {
		err = serr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return false, fmt.Errorf("spend an approval: %w", err)
	}
	return true, nil
}

// close releases the folder.
func (d *directory) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root == nil {
		return nil
	}
	err := d.root.Close()
	d.root = nil
	return err
}
