package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// SourceInfo says where a bundle came from.
type SourceInfo struct {
	Kind   string `json:"kind"` // "zip", "folder" or "github"
	URL    string `json:"url"`  // address, or absolute path
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// The kinds of source.
const (
	KindZip    = "zip"
	KindFolder = "folder"
	KindGitHub = "github"
)

// source is an opened bundle.
type source struct {
	info    SourceInfo
	tree    archive.Tree
	archive io.ReaderAt  // the archive's bytes, nil for a folder
	size    int64        // of archive
	sha256  string       // of archive, once it was asked for
	spool   *store.Spool // archive, when it was fetched
	closers []func()
}

func (s *source) close() {
	for _, c := range s.closers {
		c()
	}
}

// openSource opens what the owner named: an address, a folder or a file.
func (im *Importer) openSource(ctx context.Context, unsafeSource string) (*source, error) {
	if isAddress(unsafeSource) {
		return im.fetchGitHub(ctx, unsafeSource)
	}
	name, err := filepath.Abs(unsafeSource)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, &Refusal{Code: CodeSource, Message: fmt.Sprintf("open the source: %v", err), Err: err}
	case info.IsDir():
		return openFolder(name)
	case !info.Mode().IsRegular():
		return nil, refuse(CodeSource, "give a .zip or .skill file, a folder, or https://github.com/owner/repo", "%s is neither a file nor a folder", archive.Shown(name))
	}
	return openZip(name)
}

func isAddress(s string) bool { return strings.Contains(s, "://") }

func openFolder(name string) (*source, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, &Refusal{Code: CodeSource, Message: fmt.Sprintf("open the source: %v", err), Err: err}
	}
	tree, err := archive.OpenFolder(root, outerLimits(), noise)
	if err != nil {
		root.Close()
		return nil, refuseArchive(err)
	}
	return &source{info: SourceInfo{Kind: KindFolder, URL: name}, tree: tree, closers: []func(){func() { root.Close() }}}, nil
}

// openZip opens and checks an archive on disk. The file stays open, so all that
// is read of it later is of this same file.
func openZip(name string) (*source, error) {
	// O_NONBLOCK: a FIFO put in place of the file must not hang the command.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &Refusal{Code: CodeSource, Message: fmt.Sprintf("open the source: %v", err), Err: err}
	}
	src, err := readZip(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	src.info = SourceInfo{Kind: KindZip, URL: name}
	return src, nil
}

func readZip(f *os.File) (*source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := archive.Open(f, info.Size(), outerLimits())
	if err != nil {
		return nil, refuseArchive(err)
	}
	return &source{tree: r, archive: f, size: info.Size(), closers: []func(){func() { f.Close() }}}, nil
}

// identify hashes the bytes of an archive. It comes last: what is refused
// before costs less.
func (im *Importer) identify(ctx context.Context, s *source) error {
	if s.archive == nil {
		return nil
	}
	sum, err := im.hashFile(ctx, io.NewSectionReader(s.archive, 0, s.size), s.size)
	if err != nil {
		return fmt.Errorf("read the source: %w", err)
	}
	s.sha256 = sum
	return nil
}

func (im *Importer) hashFile(ctx context.Context, r io.Reader, size int64) (string, error) {
	h := sha256.New()
	buffer := make([]byte, 256<<10)
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := r.Read(buffer)
		h.Write(buffer[:n])
		done += int64(n)
		im.progress(Step{What: "hash", Bytes: done, TotalBytes: size})
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}
