package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
)

// FileInfo is one file of a skill as it would be installed.
type FileInfo struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// skill is a skill's files in a tree, as they would be installed.
type skill struct {
	tree     archive.Tree
	files    []FileInfo // in byte order of the path
	entries  []int      // of each file, its entry in the tree
	document int        // index of SKILL.md in files, -1 without
	rewrite  []byte     // SKILL.md as it is installed, when that differs
	dotfiles []string   // what was left out because of its name
	faults   []Diagnostic
}

// mostFaults is how many faults of one skill are named: a hostile one may have
// 32,768, and a person reads the first few.
const mostFaults = 50

// gather makes a skill of the entries below root. Budgets are held against the
// declared sizes: a declaration that is too small makes reading fail later.
func gather(tree archive.Tree, l *layout, root string) *skill {
	s := &skill{tree: tree, document: -1}
	entries := tree.Entries()
	total := int64(0)
	for _, i := range l.owned[root] {
		e := &entries[i]
		name := below(root, e.Name)
		switch {
		case appOwned(name):
			d := errorf(CodeAppOwned, "brings a file that only this program writes (forged provenance)")
			d.Path = archive.Shown(name)
			s.faults = append(s.faults, d)
			continue
		case e.Problem != nil:
			s.faults = append(s.faults, fromProblem(e.Problem, name))
			continue
		case e.Folder:
			continue
		case e.Size > MaxFileBytes:
			s.faults = append(s.faults, exceeds(CodeFileSize, "contains a file that is too large", archive.Shown(name), e.Size, MaxFileBytes, "bytes"))
			continue
		}
		if strings.EqualFold(name, documentName) {
			name = documentName // servers look for this spelling only
		}
		total += e.Size
		s.files = append(s.files, FileInfo{name, e.Size, e.Executable})
		s.entries = append(s.entries, i)
	}
	s.sort()
	s.checkBudgets(total)
	if more := len(s.faults) - mostFaults; more > 0 {
		s.faults = append(s.faults[:mostFaults:mostFaults], errorf(CodeFileUnusable, "more faults of this kind, not listed: %d", more))
	}
	s.noteDotfiles(entries, l, root)
	return s
}

func (s *skill) checkBudgets(total int64) {
	if len(s.files) > MaxFiles {
		s.faults = append(s.faults, exceeds(CodeFileCount, "contains too many files", "", int64(len(s.files)), MaxFiles, "files"))
	}
	if total > MaxSkillBytes {
		s.faults = append(s.faults, exceeds(CodeSkillSize, "is too large", "", total, MaxSkillBytes, "bytes"))
	}
	if s.document < 0 && len(s.faults) == 0 {
		s.faults = append(s.faults, errorf(CodeNoDocument, "has no SKILL.md that can be read"))
	}
}

func (s *skill) sort() {
	order := make([]int, len(s.files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(s.files[a].Path, s.files[b].Path) })
	files, entries := make([]FileInfo, len(order)), make([]int, len(order))
	for to, from := range order {
		files[to], entries[to] = s.files[from], s.entries[from]
	}
	s.files, s.entries = files, entries
	s.document = slices.IndexFunc(files, func(f FileInfo) bool { return f.Path == documentName })
}

func (s *skill) noteDotfiles(entries []archive.Entry, l *layout, root string) {
	seen := map[string]bool{}
	for _, i := range l.noise[root] {
		name := below(root, entries[i].Name)
		base := path.Base(name)
		if strings.EqualFold(base, ".DS_Store") || strings.EqualFold(base, "Thumbs.db") || strings.HasPrefix(name, "__MACOSX") || strings.Contains(name, "/__MACOSX") {
			continue
		}
		// A folder stands for all that is in it.
		kept := ""
		for segment := range strings.SplitSeq(name, "/") {
			kept = joinPath(kept, segment)
			if strings.HasPrefix(segment, ".") {
				break
			}
		}
		if !seen[kept] {
			seen[kept] = true
			s.dotfiles = append(s.dotfiles, kept)
		}
	}
	slices.Sort(s.dotfiles)
}

// open gives the bytes of file i as they would be installed.
func (s *skill) open(i int) (io.ReadCloser, error) {
	if i == s.document && s.rewrite != nil {
		return io.NopCloser(bytes.NewReader(s.rewrite)), nil
	}
	return s.tree.Open(s.entries[i])
}

// head gives the first bytes of SKILL.md, at most n.
func (s *skill) head(n int64) ([]byte, error) {
	in, err := s.open(s.document)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, n))
}

// fileError says which file could not be read.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return fmt.Sprintf("read %s: %v", archive.Shown(e.path), e.err) }
func (e *fileError) Unwrap() error { return e.err }

// each reads every file in order through one buffer and hands its bytes to the
// writer that visit gives. An error of the source is a *fileError.
func (s *skill) each(ctx context.Context, visit func(i int) (io.Writer, error), done func(i int) error) error {
	buffer := make([]byte, 64<<10)
	for i := range s.files {
		to, err := visit(i)
		if err != nil {
			return err
		}
		if err := s.copyFile(ctx, i, to, buffer); err != nil {
			return err
		}
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *skill) copyFile(ctx context.Context, i int, to io.Writer, buffer []byte) error {
	in, err := s.open(i)
	if err != nil {
		return &fileError{s.files[i].Path, err}
	}
	defer in.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(buffer)
		if _, err := to.Write(buffer[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &fileError{s.files[i].Path, err}
		}
	}
}
