package pack

import (
	"context"
	"os"
	"slices"

	"skill-mcp/internal/archive"
)

// relate compares a candidate with what is installed and says what applying it
// would do.
func (v *viewer) relate(ctx context.Context, c *Candidate, records []FileRecord) error {
	var holder *Installed // of the folder that the candidate wants
	named := []*Installed{}
	for i := range v.installed {
		s := &v.installed[i]
		if s.Imported() && s.Problem == "" && s.Hash == c.ContentHash && c.AlreadyImported == "" {
			c.AlreadyImported = s.ID
		}
		if s.ID == c.InstallName {
			holder = s
		}
		if s.sameName(c.InstallName) {
			named = append(named, s)
		}
	}
	if len(named) == 1 && named[0].Hash != c.ContentHash {
		c.ReplaceableID = named[0].ID
	}
	switch {
	case c.AlreadyImported != "":
		c.Action = ActionUnchanged
	case c.ReplaceableID != "":
		c.Action = ActionUpdate
		return v.update(ctx, c, named[0], records)
	case holder != nil:
		c.Action = ActionConflict
		c.add(warnf(CodeNameTaken, "a skill named %s is there that was not imported; it is never overwritten", archive.Shown(c.InstallName)))
	default:
		c.Action = ActionInstall
	}
	return nil
}

// update lists what replacing a skill would change, and what of the owner's own
// edits would be lost.
func (v *viewer) update(ctx context.Context, c *Candidate, old *Installed, records []FileRecord) error {
	into, err := os.OpenRoot(v.im.Into)
	if err != nil {
		return err
	}
	defer into.Close()
	root, err := into.OpenRoot(old.ID)
	if err != nil {
		return err
	}
	defer root.Close()
	now, err := scanFolder(ctx, root)
	if err != nil {
		c.add(warnf(CodeLocalEdits, "the installed skill %s cannot be compared: %v", archive.Shown(old.ID), err))
		return ctx.Err()
	}
	changes := compare(now.files, records)
	c.Changes = &changes
	if !old.Edited() {
		return nil
	}
	edits := compare(old.Provenance.Files, now.files)
	lost := slices.Concat(edits.Added, edits.Changed, edits.Removed)
	slices.Sort(lost)
	c.add(warnf(CodeLocalEdits, "%s was edited since it was imported; replacing it loses the edits of: %s", archive.Shown(old.ID), shownList(lost)))
	return nil
}
