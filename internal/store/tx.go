package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Tx is one change of several targets: skill folders in any base and objects of
// the store. After Commit or Abort it is used up.
type Tx struct {
	lock  *Lock
	j     journal
	roots []*os.Root
	locks []*flock.Flock
}

// CommitError says that a change did not happen. When Rollback is not nil it
// could not be undone either, and the journal is left for recovery.
type CommitError struct {
	Err      error
	Rollback error
}

// Error gives the cause and, if there is one, why undoing failed.
func (e *CommitError) Error() string {
	if e.Rollback != nil {
		return fmt.Sprintf("%v; undoing it failed too: %v", e.Err, e.Rollback)
	}
	return e.Err.Error()
}

// Unwrap gives both causes.
func (e *CommitError) Unwrap() []error { return []error{e.Err, e.Rollback} }

// Begin starts a change; what is a word or two for a person who finds the
// journal. The journal exists from here on, so that whatever is staged is found.
func (l *Lock) Begin(what string) (*Tx, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	t := &Tx{lock: l, roots: []*os.Root{root}}
	t.j = journal{Version: 1, ID: randomID(), What: what, Phase: staging, Bases: []string{l.dir}, Ops: []op{}}
	if err := l.writeJournal(&t.j); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// Folder stages a new folder that Commit puts at base/name, in the place of
// what is there now. base is an absolute folder that exists; name is one part.
// The caller fills the folder it gets, with modes as they shall be, and closes
// it before Commit.
func (t *Tx) Folder(base, name string) (*os.Root, error) { return t.folder(base, name, put) }

// NewFolder is Folder for a name that must be free: Commit fails when anything
// is there by then.
func (t *Tx) NewFolder(base, name string) (*os.Root, error) { return t.folder(base, name, add) }

func (t *Tx) folder(base, name string, do action) (*os.Root, error) {
	n, err := t.note(base, name, do)
	if err != nil {
		return nil, err
	}
	root, stage := t.root(n), stagePath(t.j.ID, n)
	t.lock.step("stage " + name)
	if err := root.Mkdir(stage, 0o755); err != nil {
		return nil, fmt.Errorf("stage %s: %w", name, err)
	}
	if err := root.Chmod(stage, 0o755); err != nil { // whatever the umask is
		return nil, fmt.Errorf("stage %s: %w", name, err)
	}
	return root.OpenRoot(stage)
}

// Remove lets Commit remove base/name, a folder and all in it.
func (t *Tx) Remove(base, name string) error {
	_, err := t.note(base, name, remove)
	return err
}

// Put lets Commit write an object of the store.
func (t *Tx) Put(kind, id string, value any) error {
	name, err := objectPath(kind, id)
	if err != nil {
		return err
	}
	data, err := encode(value)
	if err != nil {
		return fmt.Errorf("write %s %q: %w", kind, id, err)
	}
	if err := t.lock.root.MkdirAll(kind, 0o700); err != nil {
		return err
	}
	n, err := t.note(t.lock.dir, name, put)
	if err != nil {
		return err
	}
	return writeSynced(t.root(n), stagePath(t.j.ID, n), data)
}

// Delete lets Commit remove an object of the store.
func (t *Tx) Delete(kind, id string) error {
	name, err := objectPath(kind, id)
	if err != nil {
		return err
	}
	_, err = t.note(t.lock.dir, name, remove)
	return err
}

func (t *Tx) root(n int) *os.Root { return t.roots[t.j.Ops[n].Base] }

// note adds one target and sees that its base can be staged in.
func (t *Tx) note(base, live string, do action) (int, error) {
	if err := checkLive(live); err != nil {
		return 0, err
	}
	b, err := t.base(base)
	if err != nil {
		return 0, err
	}
	for _, o := range t.j.Ops {
		if o.Base == b && o.Live == live {
			return 0, fmt.Errorf("%s stands twice in one change", live)
		}
	}
	if err := t.roots[b].MkdirAll(WorkFolder+"/"+t.j.ID, 0o700); err != nil {
		return 0, fmt.Errorf("stage in %s: %w", base, err)
	}
	t.j.Ops = append(t.j.Ops, op{Base: b, Live: live, Action: do})
	return len(t.j.Ops) - 1, nil
}

// base opens a folder and locks it, so that processes with different stores do
// not change it at once. A base that is new is written down before anything is
// staged in it.
func (t *Tx) base(base string) (int, error) {
	base, err := filepath.Abs(base)
	if err != nil {
		return 0, err
	}
	for i, have := range t.j.Bases {
		if have == base {
			return i, nil
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return 0, fmt.Errorf("open the folder to change: %w", err)
	}
	lock, err := lockFolder(base, time.Now().Add(baseWait))
	if err != nil {
		return 0, errors.Join(err, root.Close())
	}
	t.roots = append(t.roots, root)
	if lock != nil {
		t.locks = append(t.locks, lock)
	}
	t.j.Bases = append(t.j.Bases, base)
	return len(t.j.Bases) - 1, t.lock.writeJournal(&t.j)
}

// baseWait: how long another store's change of the same folder is waited for.
const baseWait = 10 * time.Second

// Commit carries the change out. After an error nothing has changed, unless it
// is a *CommitError with Rollback.
func (t *Tx) Commit() error {
	defer t.close()
	if err := t.prepare(); err != nil {
		return &CommitError{Err: err, Rollback: t.clean()}
	}
	for n := range t.j.Ops {
		if err := t.carryOut(n); err != nil {
			return t.rollBack(fmt.Errorf("change %s: %w", t.j.Ops[n].Live, err))
		}
	}
	for _, root := range t.roots {
		if err := syncFolder(root, "."); err != nil {
			return t.rollBack(err)
		}
	}
	t.j.Phase = done
	if err := t.lock.writeJournal(&t.j); err != nil {
		// The word may be on the disk already: take it back before anything else.
		t.j.Phase = renaming
		return t.rollBack(errors.Join(err, t.lock.writeJournal(&t.j)))
	}
	// The change is made. What cannot be cleaned now is cleaned by the next lock.
	_ = t.clean()
	return nil
}

// prepare brings what is staged to the disk and writes down what follows.
func (t *Tx) prepare() error {
	t.lock.step("sync")
	for n := range t.j.Ops {
		if t.j.Ops[n].Action == remove {
			continue
		}
		digest, err := digestOf(t.root(n), stagePath(t.j.ID, n))
		if err != nil {
			return fmt.Errorf("read back what was staged: %w", err)
		}
		t.j.Ops[n].Digest = digest
	}
	for _, root := range t.roots {
		if err := syncAll(root); err != nil {
			return fmt.Errorf("sync what was staged: %w", err)
		}
	}
	t.j.Phase = renaming
	return t.lock.writeJournal(&t.j)
}

func (t *Tx) carryOut(n int) error {
	o := t.j.Ops[n]
	t.lock.step(fmt.Sprintf("change %d", n))
	live, err := exists(t.root(n), o.Live)
	if err != nil {
		return err
	}
	stage := stagePath(t.j.ID, n)
	switch {
	case o.Action == remove && !live:
		return fmt.Errorf("it is gone already")
	case o.Action == remove:
		return move(t.root(n), o.Live, stage)
	case !live, o.Action == add:
		return move(t.root(n), stage, o.Live)
	}
	err = errors.ErrUnsupported
	if !t.lock.noExchange {
		err = swap(t.root(n), stage, o.Live)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := move(t.root(n), o.Live, oldPath(t.j.ID, n)); err != nil {
		return err
	}
	t.lock.step(fmt.Sprintf("between %d", n))
	return move(t.root(n), stage, o.Live)
}

func (t *Tx) rollBack(cause error) error {
	if err := t.lock.undo(&t.j, t.roots); err != nil {
		return &CommitError{Err: cause, Rollback: err}
	}
	return &CommitError{Err: cause, Rollback: t.clean()}
}

// Abort drops what was staged.
func (t *Tx) Abort() error {
	defer t.close()
	return t.clean()
}

func (t *Tx) clean() error {
	t.lock.step("clean")
	return t.lock.clean(&t.j, t.roots)
}

func (t *Tx) close() {
	for _, root := range t.roots {
		root.Close()
	}
	for _, lock := range t.locks {
		// The descriptor is closed either way, and that alone frees the lock.
		_ = lock.Unlock()
	}
}
