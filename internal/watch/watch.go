// Package watch tells when something below the skill roots changed, once the
// changes have settled.
//
// It reads names and kinds of directory entries and nothing else, follows no
// link, and decides nothing: its caller scans again. The front uses it when
// the owner set MCP_SKILL_WATCH.
package watch

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long nothing must change before a change is told: an editor
	// or a checkout writes many files within milliseconds.
	settle = 300 * time.Millisecond
	// longest bounds the wait when changes never pause.
	longest = 3 * time.Second
	// maxDirs bounds the directories that are watched; Linux gives a user 8,192
	// watches by default on small machines.
	maxDirs = 8000
)

// Roots watches directory trees until ctx ends and sends a word for the log
// after each burst of changes. Trees may come and go. What cannot be watched is
// logged; the channel is closed when ctx ends.
func Roots(ctx context.Context, roots []string, log *slog.Logger) (<-chan string, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the roots for changes: %w", err)
	}
	t := &tree{w: w, roots: roots, log: log}
	for _, r := range roots {
		t.add(r)
		t.addDir(filepath.Dir(r)) // a root that is replaced, or comes later
	}
	out := make(chan string, 1)
	go t.run(ctx, out)
	return out, nil
}

// tree is the set of watched directories.
type tree struct {
	w     *fsnotify.Watcher
	roots []string
	log   *slog.Logger
	full  bool // maxDirs was reached, and that was logged
}

// add watches dir and every directory below it.
func (t *tree) add(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // what cannot be read is a problem of the scan
		}
		if !t.addDir(path) {
			return filepath.SkipAll
		}
		return nil
	})
}

// addDir watches one directory; false means that there are too many.
func (t *tree) addDir(path string) bool {
	if len(t.w.WatchList()) >= maxDirs {
		if !t.full {
			t.full = true
			t.log.Warn("too many folders to watch; changes in the rest are seen after SIGHUP", "limit", maxDirs)
		}
		return false
	}
	if err := t.w.Add(path); err != nil {
		t.log.Debug("a folder is not watched", "path", path, "error", err)
	}
	return true
}

// run collects events until they settle.
func (t *tree) run(ctx context.Context, out chan<- string) {
	defer close(out)
	defer t.w.Close()
	var quiet, late <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case err, ok := <-t.w.Errors:
			if !ok {
				return
			}
			t.log.Warn("watching the roots", "error", err)
			quiet, late = begin(late)
		case e, ok := <-t.w.Events:
			if !ok {
				return
			}
			if t.concerns(e) {
				quiet, late = begin(late)
			}
		case <-quiet:
			quiet, late = nil, nil
			tell(out)
		case <-late:
			quiet, late = nil, nil
			tell(out)
		}
	}
}

// begin arms the wait for quiet, and the bound on it unless that runs already.
func begin(late <-chan time.Time) (<-chan time.Time, <-chan time.Time) {
	if late == nil {
		late = time.After(longest)
	}
	return time.After(settle), late
}

// tell sends without waiting: one word that was not taken yet says as much.
func tell(out chan<- string) {
	select {
	case out <- "files changed":
	default:
	}
}

// concerns reports whether an event is about a root, and watches what is new.
func (t *tree) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod && !t.below(e.Name) {
		return false
	}
	if !t.below(e.Name) {
		return false // a neighbour of a root
	}
	if e.Has(fsnotify.Create) {
		t.add(e.Name)
	}
	return true
}

// below reports whether path is a root or lies in one.
func (t *tree) below(path string) bool {
	for _, r := range t.roots {
		if rel, err := filepath.Rel(r, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
