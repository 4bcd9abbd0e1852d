package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// applier installs the items of one apply.
type applier struct {
	im        *Importer
	lock      *store.Lock
	record    *record
	source    *source
	bundle    *bundle
	installed []Installed
	done      map[string]bool // paths that had their turn
}

// itemError is the end of an item that failed.
type itemError struct {
	code string
	err  error
}

func (e *itemError) Error() string { return e.err.Error() }
func (e *itemError) Unwrap() error { return e.err }

func itemf(code, format string, args ...any) error {
	return &itemError{code, fmt.Errorf(format, args...)}
}

func (a *applier) item(ctx context.Context, c Choice) Result {
	res, err := a.install(ctx, c)
	res.Path = c.Path
	if err == nil {
		return res
	}
	res.Status, res.Code, res.Message = StatusError, CodeCannotWrite, err.Error()
	var coded *itemError
	var broken *fileError
	switch {
	case errors.As(err, &coded):
		res.Code = coded.code
	case errors.As(err, &broken):
		res.Code = CodeSourceChanged
	}
	return res
}

// install decides one item and carries it out.
func (a *applier) install(ctx context.Context, c Choice) (Result, error) {
	if a.done[c.Path] {
		return Result{}, itemf(CodeTwice, "this item was chosen twice")
	}
	a.done[c.Path] = true
	at := slices.IndexFunc(a.record.Items, func(i recordItem) bool { return i.Path == c.Path })
	if at < 0 {
		return Result{}, itemf(CodeUnknownItem, "the preview has no item %s", archive.Shown(c.Path))
	}
	item := &a.record.Items[at]
	if !item.Importable {
		return Result{}, itemf(CodeNotImportable, "the item cannot be imported: %s", item.Why)
	}
	for _, id := range []string{item.Name, c.ReplaceID} {
		if err := a.refresh(ctx, id); err != nil {
			return Result{}, err
		}
	}
	res, err := a.decide(item, c)
	if err != nil || res.Status == StatusUnchanged {
		return res, err
	}
	if err := a.carryOut(ctx, item, res); err != nil {
		return res, err
	}
	return res, a.refresh(ctx, res.ID)
}

// refresh reads one installed skill again: another process with another store
// may have changed it, and this one changes it too. Reading all of them for
// each of 256 items would take hours.
func (a *applier) refresh(ctx context.Context, id string) error {
	a.installed = slices.DeleteFunc(a.installed, func(s Installed) bool { return s.ID == id })
	if archive.CheckName(id) != nil || strings.Contains(id, "/") {
		return nil
	}
	root, err := os.OpenRoot(a.record.Into)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	a.installed = append(a.installed, lookInstalled(ctx, root, id)...)
	return ctx.Err()
}

// decide says what becomes of an item. Nothing is ever overwritten that was not
// named by its id.
func (a *applier) decide(item *recordItem, c Choice) (Result, error) {
	res := Result{ID: item.Name, Status: StatusImported, Hash: item.Hash}
	find := func(id string) *Installed {
		i := slices.IndexFunc(a.installed, func(s Installed) bool { return s.ID == id })
		if i < 0 {
			return nil
		}
		return &a.installed[i]
	}
	if c.ReplaceID != "" {
		old := find(c.ReplaceID)
		switch {
		case old == nil || !old.Imported():
			return res, itemf(CodeReplaceID, "%s is not the id of an imported skill", archive.Shown(c.ReplaceID))
		case old.ID != item.Name && old.Name != item.Name:
			return res, itemf(CodeReplaceID, "%s has another name than the skill that shall replace it, %s", archive.Shown(c.ReplaceID), archive.Shown(item.Name))
		}
		res.ID, res.Status = old.ID, StatusUpdated
		if old.Hash == item.Hash {
			res.Status = StatusUnchanged
		}
		return res, nil
	}
	for i := range a.installed {
		if s := &a.installed[i]; s.Imported() && s.Problem == "" && s.Hash == item.Hash {
			res.ID, res.Status = s.ID, StatusUnchanged
			return res, nil
		}
	}
	for i := range a.installed {
		if s := &a.installed[i]; archive.Key(s.ID) == archive.Key(item.Name) || s.Imported() && s.Name == item.Name {
			if s.Imported() {
				return res, itemf(CodeNameTaken, "a skill of this name is installed with other content; to replace it, say --select %s=%s", item.Path, s.ID)
			}
			return res, itemf(CodeNameTaken, "%s is there and was not imported; it is never overwritten", archive.Shown(s.ID))
		}
	}
	return res, nil
}

// carryOut stages the skill and puts it in place as one change.
func (a *applier) carryOut(ctx context.Context, item *recordItem, res Result) error {
	if err := makeInto(a.record.Into); err != nil {
		return err
	}
	return a.withSkill(ctx, item, func(s *skill) error {
		tx, err := a.lock.Begin("import " + res.ID)
		if err != nil {
			return err
		}
		open := tx.NewFolder
		if res.Status == StatusUpdated {
			open = tx.Folder
		}
		staged, err := open(a.record.Into, res.ID)
		if err != nil {
			return errors.Join(err, tx.Abort())
		}
		err = a.stage(ctx, s, item, staged)
		staged.Close()
		if err != nil {
			return errors.Join(err, tx.Abort())
		}
		return tx.Commit()
	})
}

// makeInto makes the folder of skills when it is the first one.
func makeInto(into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of skills: %w", err)
	}
	return nil
}

var errFound = errors.New("found")

// withSkill finds the item's files in the source again.
func (a *applier) withSkill(ctx context.Context, item *recordItem, do func(*skill) error) error {
	var inner error
	wanted := func(name string) bool { return name == item.Part }
	err := a.bundle.parts(ctx, wanted, func(p *part) error {
		if p.name != item.Part || !slices.Contains(p.layout.roots, item.Root) {
			return nil
		}
		s := gather(p.tree, &p.layout, item.Root)
		if len(s.faults) > 0 || s.document < 0 {
			inner = itemf(CodeSourceChanged, "the source is not the one that was previewed")
			return errFound
		}
		if inner = s.adopt(item.Name); inner == nil {
			inner = do(s)
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return inner
	}
	return errors.Join(err, itemf(CodeSourceChanged, "the source no longer holds %s", archive.Shown(strings.TrimSpace(item.Path))))
}

// adopt gives the skill its install name as the preview did.
func (s *skill) adopt(name string) error {
	head, err := s.head(128 << 10)
	if err != nil {
		return &fileError{documentName, err}
	}
	if ParseDocument(head).Name == name {
		return nil
	}
	return s.rename(name)
}
