package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"skill-mcp/internal/archive"
)

// Condition is what verifying a skill found.
type Condition string

// The conditions. Only ConditionIntact is good.
const (
	ConditionIntact      Condition = "intact"
	ConditionEdited      Condition = "edited"
	ConditionNotImported Condition = "not-imported"
	ConditionUnreadable  Condition = "unreadable"
)

// Verified is what verifying one skill found.
type Verified struct {
	ID         string      `json:"id"`
	Condition  Condition   `json:"condition"`
	Hash       string      `json:"contentHash,omitempty"` // of what is there now
	Expected   string      `json:"expectedHash,omitempty"`
	Edits      *Changes    `json:"edits,omitempty"` // since the import
	Message    string      `json:"message,omitempty"`
	Provenance *Provenance `json:"-"`
	URL        string      `json:"url,omitempty"`
}

// Verify reads skills again and compares them with what was recorded when they
// were imported. Without ids it takes every imported skill.
func Verify(ctx context.Context, into string, ids []string) ([]Verified, error) {
	root, err := os.OpenRoot(into)
	if errors.Is(err, fs.ErrNotExist) && len(ids) == 0 {
		return []Verified{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	all := len(ids) == 0
	if all {
		if ids, err = skillFolders(root); err != nil {
			return nil, err
		}
	}
	out := []Verified{}
	for _, id := range ids {
		v := verifyOne(ctx, root, id)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !all || v.Condition != ConditionNotImported {
			out = append(out, v)
		}
	}
	return out, nil
}

func skillFolders(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("list the folder of skills: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the folder of skills: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := root.Lstat(name)
		return noise(name) || err != nil || !info.IsDir()
	})
	slices.Sort(names)
	return names, nil
}

func verifyOne(ctx context.Context, into *os.Root, id string) Verified {
	v := Verified{ID: id, Condition: ConditionUnreadable}
	root, err := openSkillFolder(into, id)
	if err != nil {
		v.Message = err.Error()
		return v
	}
	defer root.Close()
	p, err := readProvenance(root)
	if errors.Is(err, fs.ErrNotExist) {
		v.Condition, v.Message = ConditionNotImported, "it has no "+sourceFile
		return v
	}
	if err != nil {
		v.Message = err.Error()
		return v
	}
	v.Provenance, v.URL, v.Expected = p, p.URL, p.Signature
	now, err := scanFolder(ctx, root)
	if err != nil {
		v.Message = err.Error()
		return v
	}
	v.Hash = now.hash
	edits := compare(p.Files, now.files)
	if v.Hash == p.Signature && edits.Empty() {
		v.Condition = ConditionIntact
		return v
	}
	v.Condition, v.Edits = ConditionEdited, &edits
	return v
}

// openSkillFolder opens a skill by its id. An id that is a path or a link is
// refused.
func openSkillFolder(into *os.Root, unsafeID string) (*os.Root, error) {
	if p := archive.CheckName(unsafeID); p != nil || slices.Contains([]byte(unsafeID), '/') {
		return nil, refuse(CodeUnknown, "give the name of a folder of skills", "%s is not the id of a skill", archive.Shown(unsafeID))
	}
	info, err := into.Lstat(unsafeID)
	if err != nil || !info.IsDir() {
		return nil, refuse(CodeUnknown, "", "there is no skill %s", archive.Shown(unsafeID))
	}
	return into.OpenRoot(unsafeID)
}
