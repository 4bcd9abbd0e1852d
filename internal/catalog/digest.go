package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxDigestFiles bounds the files of a bundle that is bound to an
	// approval. More than is listed, as what is not listed can be run too.
	maxDigestFiles = 50000
	// Above these a bundle's resources are not digested one by one.
	maxResourceFiles = 512
	maxResourceBytes = 16 << 20
)

// Digest gives the sha256, in lower-case hex, over the whole bundle as it is
// now: for each file in byte order of its path, "path NUL size NUL sha256 LF",
// and for each link "path NUL link NUL sha256-of-its-target-text LF". Files
// that are not listed, for their number or their names, are in it. It fails when a
// part of the bundle cannot be read.
func (s *Skill) Digest(ctx context.Context) (string, error) {
	t, err := openTree(s.Dir)
	if err != nil {
		return "", fmt.Errorf("digest the bundle: %w", err)
	}
	defer t.close()
	lines, err := s.digestLines(ctx, t)
	if err != nil {
		return "", fmt.Errorf("digest the bundle: %w", err)
	}
	slices.SortFunc(lines, func(a, b digestLine) int { return strings.Compare(a.path, b.path) })
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%s\x00%s\x00%s\n", l.path, l.size, l.sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digestLine is one file or link of a bundle. size is decimal, or "link".
type digestLine struct {
	path, size, sum string
	id              fileID
}

// digestLines walks the bundle and hashes what it holds.
func (s *Skill) digestLines(ctx context.Context, t *tree) ([]digestLine, error) {
	var unreadable string
	w := walk{tree: t, limit: maxDigestFiles, unusable: true, identify: true}
	w.found = func(_, path string) { unreadable = path }
	over, err := w.run(ctx)
	switch {
	case err != nil:
		return nil, err
	case over != "":
		return nil, &Refused{"the bundle has too many " + over + " to be bound to an approval", "remove what the skill does not need"}
	case unreadable != "":
		return nil, &Refused{"the directory " + quotePath(unreadable) + " of the bundle cannot be read", "make it readable, or remove it"}
	}
	lines := make([]digestLine, len(w.files), len(w.files)+len(w.links))
	for i, f := range w.files {
		lines[i] = digestLine{path: f, id: w.ids[i]}
	}
	if err := s.hashAll(ctx, t, lines); err != nil {
		return nil, err
	}
	for _, link := range w.links {
		target, err := t.readlink(link)
		if err != nil {
			return nil, err
		}
		lines = append(lines, digestLine{path: link, size: "link", sum: sum([]byte(target))})
	}
	return lines, nil
}

// hashAll fills in the lines of files, several at a time.
func (s *Skill) hashAll(ctx context.Context, t *tree, lines []digestLine) error {
	next := make(chan int)
	errs := make(chan error, 1)
	var hashers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(lines), 8) {
		hashers.Go(func() {
			buf := make([]byte, 128<<10)
			for i := range next {
				if err := s.hashLine(ctx, t, &lines[i], buf); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for i := range lines {
		if len(errs) > 0 {
			break
		}
		next <- i
	}
	close(next)
	hashers.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (s *Skill) hashLine(ctx context.Context, t *tree, l *digestLine, buf []byte) error {
	if sum, ok := s.hashes.get(l.id); ok {
		l.size, l.sum = strconv.FormatInt(l.id.size, 10), sum
		return nil
	}
	f, info, err := t.openRegular(l.path)
	if err != nil {
		return unreadableFile(l.path, err)
	}
	defer f.Close()
	n, sum, err := s.hashes.hash(ctx, f, info, buf)
	if err != nil {
		return unreadableFile(l.path, err)
	}
	l.size, l.sum = strconv.FormatInt(n, 10), sum
	return nil
}

func unreadableFile(path string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Refused{fmt.Sprintf("the file %s of the bundle cannot be read: %v", quotePath(path), plain(err)), "make it readable, or remove it"}
}

// ScriptDigest gives the sha256, in lower-case hex, of the file a path of the
// skill leads to now.
func (s *Skill) ScriptDigest(ctx context.Context, unsafePath string) (string, error) {
	r, err := s.Resolve(unsafePath)
	if err != nil {
		return "", err
	}
	_, sum, err := s.hashFile(ctx, r)
	return sum, err
}

// hashFile hashes a whole file, or takes its hash from the cache.
func (s *Skill) hashFile(ctx context.Context, r *Resolved) (n int64, sum string, err error) {
	f, info, err := r.open()
	if err != nil {
		return 0, "", unreadableFile(r.Path, err)
	}
	defer f.Close()
	if sum, ok := s.hashes.get(identity(info)); ok {
		return info.Size(), sum, nil
	}
	n, sum, err = s.hashes.hash(ctx, f, info, make([]byte, 128<<10))
	if err != nil {
		return 0, "", unreadableFile(r.Path, err)
	}
	return n, sum, nil
}

// ResourceDigest is the digest of one resource of a skill, over the bytes that
// are served: the whole file, or its first MaxRead bytes.
type ResourceDigest struct {
	Path   string
	Digest string // "sha256:" and lower-case hex
	Size   int64  // of what is served, in bytes
}

// ResourceDigests gives the digests of all listed files, SKILL.md included. It
// gives dynamic instead when there are too many of them, or too much in them,
// or when one cannot be read any more.
func (s *Skill) ResourceDigests(ctx context.Context) (all []ResourceDigest, dynamic bool) {
	if len(s.Paths()) > maxResourceFiles || s.Bytes() > maxResourceBytes {
		return nil, true
	}
	paths := slices.Clone(s.Paths())
	if !slices.Contains(paths, skillFile) {
		paths = append(paths, skillFile)
		slices.Sort(paths)
	}
	for _, path := range paths {
		d, err := s.resourceDigest(ctx, path)
		if err != nil {
			return nil, true
		}
		all = append(all, d)
	}
	return all, false
}

func (s *Skill) resourceDigest(ctx context.Context, path string) (ResourceDigest, error) {
	r, err := s.Resolve(path)
	if err != nil {
		return ResourceDigest{}, err
	}
	if r.Size <= MaxRead {
		n, sum, err := s.hashFile(ctx, r)
		if err != nil || n <= MaxRead {
			return ResourceDigest{path, "sha256:" + sum, n}, err
		}
	}
	c := r.content(MaxRead)
	if c.Err != nil {
		return ResourceDigest{}, c.Err
	}
	return ResourceDigest{path, "sha256:" + sum([]byte(c.Data)), int64(len(c.Data))}, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// readThrough hashes an open file and counts its bytes.
func readThrough(ctx context.Context, f *os.File, buf []byte) (n int64, sum string, err error) {
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return 0, "", err
		}
		k, err := f.Read(buf)
		h.Write(buf[:k])
		n += int64(k)
		if err == io.EOF {
			return n, hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return 0, "", err
		}
	}
}
