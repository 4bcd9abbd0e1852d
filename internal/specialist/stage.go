package specialist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// stager puts the skills of an install beside their places.
type stager struct {
	shelf   *Shelf
	tx      *store.Tx
	record  *Record
	archive string // sha256 of the package
}

// skill stages what a disposition asks for; skills that are only reused are not
// touched, but for the list of their owners.
func (st *stager) skill(ctx context.Context, k *planned) error {
	switch k.disposition {
	case Install:
		return st.write(ctx, k, st.tx.NewFolder, &ownership{OwnerIDs: []string{}})
	case ReplaceExisting:
		return st.write(ctx, k, st.tx.Folder, &ownership{Standalone: k.existing.standalone, OwnerIDs: slices.Clone(k.existing.owners)})
	case ReuseOwned:
		if slices.Contains(k.existing.owners, st.record.ID) {
			return nil
		}
		o := ownership{k.name, k.version, k.hash, k.existing.standalone, append(slices.Clone(k.existing.owners), st.record.ID)}
		return restage(ctx, st.tx, st.shelf.Into, k.localID, &o)
	}
	return nil
}

// write stages a bundled skill with what this program keeps beside it.
func (st *stager) write(ctx context.Context, k *planned, open func(base, name string) (*os.Root, error), o *ownership) error {
	root, err := open(st.shelf.Into, k.localID)
	if err != nil {
		return err
	}
	defer root.Close()
	files, signature, err := k.skill.Write(ctx, root)
	if err != nil {
		return err
	}
	o.ID, o.Version, o.ContentHash = k.name, k.version, k.hash
	if !slices.Contains(o.OwnerIDs, st.record.ID) {
		o.OwnerIDs = append(o.OwnerIDs, st.record.ID)
	}
	slices.Sort(o.OwnerIDs)
	source := pack.Provenance{
		Version: 1, URL: "specialist:" + st.record.ID + "@" + st.record.Version, Path: skillsFolder + "/" + k.name, Signature: signature,
		ArchiveSHA256: st.archive, ImportedAt: st.shelf.now(), Importer: "skill-mcp " + st.shelf.App, Files: files,
	}
	return errors.Join(writeJSON(root, sourceFile, source), writeJSON(root, ownerFile, o))
}

// restage stages a copy of an installed skill with another list of owners.
// Everything else stays as it is, byte for byte, also what the owner put there
// since; a link stays a link and is not followed.
func restage(ctx context.Context, tx *store.Tx, into, id string, o *ownership) error {
	from, err := openFolder(into, id)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := tx.Folder(into, id)
	if err != nil {
		return err
	}
	defer to.Close()
	slices.Sort(o.OwnerIDs)
	err = fs.WalkDir(from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == "." || name == ownerFile:
			return nil
		case d.IsDir():
			return copyFolder(to, name, d)
		case d.Type() == fs.ModeSymlink:
			return copyLink(from, to, name)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", shown(name))
		}
		return copyFile(from, to, name)
	})
	return errors.Join(err, writeJSON(to, ownerFile, o))
}

func copyFolder(to *os.Root, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if err := to.Mkdir(name, 0o700); err != nil {
		return err
	}
	return to.Chmod(name, info.Mode().Perm()|0o700)
}

func copyLink(from, to *os.Root, name string) error {
	target, err := from.Readlink(name)
	if err != nil {
		return err
	}
	return to.Symlink(target, name)
}

func copyFile(from, to *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
}
