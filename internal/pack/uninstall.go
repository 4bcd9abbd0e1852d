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
	"skill-mcp/internal/strictjson"
)

// Users gives the ids of those that refer to a skill and would miss it, such as
// specialists.
type Users func(skillID string) ([]string, error)

// Uninstall removes an imported skill. Refused are skills that were not
// imported (built in, or made by hand), whose names belong to the product, or
// that something refers to.
func Uninstall(ctx context.Context, s *store.Store, into, unsafeID string, users Users) error {
	l, err := lock(ctx, s)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if err := mayRemove(into, unsafeID, users); err != nil {
		return err
	}
	tx, err := l.Begin("uninstall " + unsafeID)
	if err != nil {
		return err
	}
	if err := tx.Remove(into, unsafeID); err != nil {
		return errors.Join(err, tx.Abort())
	}
	return tx.Commit()
}

func mayRemove(into, unsafeID string, users Users) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	folder, err := openSkillFolder(root, unsafeID)
	if err != nil {
		return err
	}
	defer folder.Close()
	if reservedName(unsafeID) {
		return refuse(CodeProtected, "leave it out of the grant to keep it from running", "%s belongs to the product", archive.Shown(unsafeID))
	}
	if _, err := readProvenance(folder); errors.Is(err, fs.ErrNotExist) {
		return refuse(CodeNotImported, "remove its folder by hand", "%s was not imported: it is built in or was made by hand", archive.Shown(unsafeID))
	} else if err != nil {
		return err
	}
	owners, err := skillOwners(folder)
	if err != nil {
		return err
	}
	if users != nil {
		more, err := users(unsafeID)
		if err != nil {
			return fmt.Errorf("ask who refers to %s: %w", archive.Shown(unsafeID), err)
		}
		for _, id := range more {
			owners = append(owners, archive.Shown(id))
		}
	}
	if len(owners) > 0 {
		slices.Sort(owners)
		return refuse(CodeProtected, "delete the specialist first", "%s is used by %s", archive.Shown(unsafeID), strings.Join(slices.Compact(owners), ", "))
	}
	return nil
}

// skillOwners reads who owns a skill from .specialist-package.json, whose key
// ownerIds is a list of specialist ids.
func skillOwners(folder *os.Root) ([]string, error) {
	data, err := readStart(folder, ownerFile, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	v, err := strictjson.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	owners := []string{}
	if list := v.Get("ownerIds"); list != nil {
		for _, item := range list.Items {
			owners = append(owners, archive.Shown(item.Text))
		}
	}
	return owners, nil
}
