package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// stage writes a skill's files into a fresh folder and proves that they are
// those that were previewed.
func (a *applier) stage(ctx context.Context, s *skill, item *recordItem, into *os.Root) error {
	files, hash, err := writeSkill(ctx, s, into, a.im.Progress)
	if err != nil {
		return err
	}
	if hash != item.Hash {
		return itemf(CodeSourceChanged, "the bytes are not those that were previewed")
	}
	p := Provenance{
		Version: 1, URL: a.record.Source.URL, Path: item.Path, Signature: hash, ArchiveSHA256: a.record.ArchiveSHA256,
		Ref: a.record.Source.Ref, Commit: a.record.Source.Commit, ImportedAt: a.im.now(), Importer: "skill-mcp " + a.im.Version, Files: files,
	}
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	return writeNew(into, sourceFile, 0o644, func(f *os.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
}

// writeSkill writes every file of s below an empty folder, 0644 or 0755, folders
// 0755, and gives what it wrote.
func writeSkill(ctx context.Context, s *skill, into *os.Root, progress func(Step)) ([]FileRecord, string, error) {
	w := &skillWriter{skill: s, into: into, made: map[string]bool{".": true}, total: newContentHash(), progress: progress}
	defer w.close()
	err := s.each(ctx, w.begin, w.end)
	if err != nil {
		return nil, "", err
	}
	return w.records, w.total.sum(), nil
}

type skillWriter struct {
	skill    *skill
	into     *os.Root
	made     map[string]bool // folders that exist
	file     *os.File        // the one being written
	total    contentHash
	records  []FileRecord
	bytes    int64
	progress func(Step)
	sum      func() string
}

func (w *skillWriter) begin(i int) (io.Writer, error) {
	f := w.skill.files[i]
	if err := w.folders(path.Dir(f.Path)); err != nil {
		return nil, err
	}
	out, err := w.into.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	h := sha256.New()
	w.file, w.sum = out, func() string { return hex.EncodeToString(h.Sum(nil)) }
	return io.MultiWriter(out, w.total.file(f.Path), h), nil
}

func (w *skillWriter) end(i int) error {
	f := w.skill.files[i]
	err := errors.Join(w.file.Chmod(fileMode(f.Executable)), w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	w.total.end()
	w.records = append(w.records, FileRecord{f.Path, f.Size, w.sum(), f.Executable})
	w.bytes += f.Size
	if w.progress != nil {
		w.progress(Step{What: "write", Bytes: w.bytes, Entries: len(w.records), TotalEntries: len(w.skill.files)})
	}
	return nil
}

// close ends a file that an error left open.
func (w *skillWriter) close() {
	if w.file != nil {
		w.file.Close()
	}
}

func fileMode(executable bool) os.FileMode {
	if executable {
		return 0o755
	}
	return 0o644
}

func (w *skillWriter) folders(dir string) error {
	if w.made[dir] {
		return nil
	}
	if err := w.folders(path.Dir(dir)); err != nil {
		return err
	}
	if err := w.into.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	w.made[dir] = true
	return w.into.Chmod(dir, 0o755) // whatever the umask is
}

// writeNew writes one file that must not exist.
func writeNew(root *os.Root, name string, mode os.FileMode, fill func(*os.File) error) error {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := errors.Join(fill(f), f.Chmod(mode), f.Close()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
