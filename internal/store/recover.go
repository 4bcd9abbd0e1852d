package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// recover undoes what did not get done and cleans up after what did. The
// caller holds the lock.
func (l *Lock) recover(ctx context.Context) error {
	ids, err := listJSON(l.root, "journal")
	if err != nil {
		return fmt.Errorf("list journals: %w", err)
	}
	for _, id := range ids {
		if err := l.recoverOne(ctx, id); err != nil {
			return &BlockedError{Journal: filepath.Join(l.dir, "journal", id+".json"), Err: err}
		}
	}
	// Temporary files of a process that ended: this one holds the lock, so nobody
	// else is writing there, and spool files in use have no name.
	return errors.Join(l.root.RemoveAll(WorkFolder), l.emptySpool())
}

// emptySpool keeps the folder: another process may just be making a file in it.
func (l *Lock) emptySpool() error {
	d, err := l.root.Open("spool")
	if err != nil {
		return ignoreMissing(err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, ignoreMissing(l.root.Remove("spool/"+name)))
	}
	return err
}

func (l *Lock) recoverOne(ctx context.Context, id string) error {
	data, err := readFile(l.root, "journal/"+id+".json")
	if err != nil {
		return err
	}
	j, err := parseJournal(data, id)
	if err != nil {
		return err
	}
	roots, release, err := openBases(ctx, j)
	if err != nil {
		return err
	}
	defer release()
	if j.Phase == renaming {
		if err := l.undo(j, roots); err != nil {
			return err
		}
	}
	return l.clean(j, roots)
}

// openBases opens and locks every base; one that is gone is nil.
func openBases(ctx context.Context, j *journal) ([]*os.Root, func(), error) {
	var roots []*os.Root
	var locks []*flock.Flock
	release := func() {
		for _, r := range roots {
			if r != nil {
				r.Close()
			}
		}
		for _, lock := range locks {
			// Closing the descriptor frees the lock.
			_ = lock.Unlock()
		}
	}
	for i, base := range j.Bases {
		root, err := os.OpenRoot(base)
		if errors.Is(err, os.ErrNotExist) {
			roots = append(roots, nil)
			continue
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		roots = append(roots, root)
		if i == 0 {
			continue // the store itself: its own lock is held
		}
		lock, err := lockFolder(base, deadline(ctx))
		if err != nil {
			release()
			return nil, nil, err
		}
		if lock != nil {
			locks = append(locks, lock)
		}
	}
	return roots, release, nil
}

func deadline(ctx context.Context) time.Time {
	if at, ok := ctx.Deadline(); ok {
		return at
	}
	return time.Now().Add(baseWait)
}

// undo puts every target back as it was, last first. It may be run again after
// it was cut off.
func (s *Store) undo(j *journal, roots []*os.Root) error {
	for n := len(j.Ops) - 1; n >= 0; n-- {
		root := roots[j.Ops[n].Base]
		if root == nil {
			continue
		}
		s.step(fmt.Sprintf("undo %d", n))
		if err := undoOne(j, n, root); err != nil {
			return fmt.Errorf("undo the change of %s: %w", filepath.Join(j.Bases[j.Ops[n].Base], j.Ops[n].Live), err)
		}
	}
	// Written down before anything staged is removed: without what was staged a
	// second recovery could not tell old from new.
	j.Phase = staging
	return s.writeJournal(j)
}

func undoOne(j *journal, n int, root *os.Root) error {
	o, stage, old := j.Ops[n], stagePath(j.ID, n), oldPath(j.ID, n)
	staged, err1 := exists(root, stage)
	live, err2 := exists(root, o.Live)
	waits, err3 := exists(root, old)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if o.Action == remove {
		if staged {
			return move(root, stage, o.Live)
		}
		return nil
	}
	if waits {
		// Two renames stood for a swap; the second may have happened.
		if !staged && live {
			if err := takeBack(root, o, stage); err != nil {
				return err
			}
		}
		return move(root, old, o.Live)
	}
	switch {
	case !staged && !live: // it was put in place and somebody removed it
		return nil
	case !staged:
		return takeBack(root, o, stage)
	}
	digest, err := digestOf(root, stage)
	if err != nil || digest == o.Digest {
		return err // not swapped
	}
	if live {
		if err := takeBackCheck(root, o); err != nil {
			return err
		}
		return swap(root, stage, o.Live)
	}
	return move(root, stage, o.Live)
}

// takeBack moves what the change put in place out again.
func takeBack(root *os.Root, o op, stage string) error {
	if err := takeBackCheck(root, o); err != nil {
		return err
	}
	return move(root, o.Live, stage)
}

// takeBackCheck refuses to throw away what somebody worked on since.
func takeBackCheck(root *os.Root, o op) error {
	digest, err := digestOf(root, o.Live)
	if err != nil {
		return err
	}
	if digest != o.Digest {
		return fmt.Errorf("it was changed since; move it away, then run the command again")
	}
	return nil
}

// clean removes what was staged, then the journal. Precondition: the change is
// done, undone or was never begun.
func (s *Store) clean(j *journal, roots []*os.Root) error {
	for _, root := range roots {
		if root == nil {
			continue
		}
		if err := root.RemoveAll(WorkFolder + "/" + j.ID); err != nil {
			return fmt.Errorf("remove what was staged: %w", err)
		}
		// Another store may be staging here too; then the folder stays.
		_ = root.Remove(WorkFolder)
	}
	s.step("forget")
	return ignoreMissing(s.root.Remove("journal/" + j.ID + ".json"))
}
