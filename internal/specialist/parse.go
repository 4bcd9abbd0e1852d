package specialist

import (
	"bytes"
	"context"
	"errors"
	"io"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
)

// parsed is a package as far as it could be understood, without a look at what
// is installed.
type parsed struct {
	tree     archive.Tree
	folder   bool // the tree is a folder on disk
	f        *findings
	layout   layout
	manifest Manifest
	profile  Profile
	skills   []bundled
	files    int
	bytes    int64 // decompressed, as counted
	scripts  int   // skills with programs

	progress func(pack.Step) // may be nil
	starts   map[int][]byte  // first bytes of each file, by entry
	unread   map[string]bool // skill folders with a file that could not be read
}

// parseBytes reads a package from the bytes of its archive. Nothing in it makes
// this fail: what is wrong is in the findings. The error is ctx's.
func parseBytes(ctx context.Context, data []byte, progress func(pack.Step)) (*parsed, error) {
	p := &parsed{f: &findings{}, progress: progress}
	tree, err := archive.Open(bytes.NewReader(data), int64(len(data)), readLimits())
	if err != nil {
		p.f.add(fromError(err, ""))
		return p, nil
	}
	p.tree = tree
	return p, p.read(ctx)
}

// parseTree reads a package from a folder.
func parseTree(ctx context.Context, tree archive.Tree, progress func(pack.Step)) (*parsed, error) {
	p := &parsed{f: &findings{}, tree: tree, folder: true, progress: progress}
	return p, p.read(ctx)
}

func (p *parsed) read(ctx context.Context) error {
	entries := p.tree.Entries()
	for i := range entries {
		if e := &entries[i]; e.Problem != nil {
			p.f.add(fromProblem(e.Problem, placeOf(e), p.folder))
		}
	}
	p.starts, p.unread = map[int][]byte{}, map[string]bool{}
	readable := checkTotals(entries, p.f)
	if readable {
		if err := p.readAll(ctx); err != nil {
			return err
		}
	}
	p.layout = arrange(entries, p.f)
	if !p.layout.ok {
		return nil
	}
	if text, place, ok := p.document(manifestName); ok {
		p.manifest = parseManifest(text, place, p.f)
	}
	if text, place, ok := p.document(profileName); ok {
		p.profile = parseProfile(text, place, p.f)
	}
	if !readable {
		return nil
	}
	for _, name := range p.layout.skills {
		b, err := p.readBundled(ctx, name)
		if err != nil {
			return err
		}
		if b != nil {
			p.skills = append(p.skills, *b)
		}
	}
	if p.scripts > 0 {
		p.f.add(Diagnostic{Level: LevelWarning, Code: "package.executable-content-present", Message: "the package brings programs; installing it runs none of them"})
	}
	return nil
}

// readAll reads every file once: only that shows whether lengths and checksums
// are true. It keeps the first bytes of each.
func (p *parsed) readAll(ctx context.Context) error {
	buffer := make([]byte, 64<<10)
	entries := p.tree.Entries()
	for i := range entries {
		e := &entries[i]
		if e.Folder || e.Problem != nil {
			continue
		}
		p.files++
		n, err := p.drain(ctx, i, buffer)
		p.bytes += n
		if p.progress != nil {
			p.progress(pack.Step{What: "read", Bytes: p.bytes, Entries: p.files, TotalEntries: len(entries)})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.f.add(fromError(err, placeOf(e)))
			p.unread[p.skillOf(e.Name)] = true
			e.Problem = &archive.Problem{Code: archive.UnreadableArchive, Detail: "it cannot be read"}
		}
	}
	return nil
}

// skillOf gives the folder of the skill that a path lies in, at the root or in
// a wrapper, or "".
func (p *parsed) skillOf(name string) string {
	parts := bytes.Split([]byte(name), []byte("/"))
	for at := range min(2, len(parts)) {
		if string(parts[at]) == skillsFolder && len(parts) > at+2 {
			return string(bytes.Join(parts[:at+2], []byte("/")))
		}
	}
	return ""
}

func (p *parsed) drain(ctx context.Context, i int, buffer []byte) (int64, error) {
	in, err := p.tree.Open(i)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	total := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := in.Read(buffer)
		if start := p.starts[i]; len(start) < 8 && n > 0 {
			p.starts[i] = append(start, buffer[:min(n, 8)]...)
		}
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// document gives one of the two documents.
func (p *parsed) document(name string) (text []byte, place string, ok bool) {
	place = quiet(join(p.layout.root, name))
	i, there := p.layout.files[name]
	if !there {
		return nil, place, false
	}
	e := &p.tree.Entries()[i]
	if e.Problem != nil {
		return nil, place, false // reported already
	}
	if e.Size > maxDocument {
		p.f.add(Diagnostic{Level: LevelError, Code: "package.json-invalid", Path: place, Message: "the document is too long", Actual: e.Size, Limit: maxDocument, Unit: "bytes"})
		return nil, place, false
	}
	in, err := p.tree.Open(i)
	if err == nil {
		defer in.Close()
		text, err = io.ReadAll(in)
	}
	if err != nil {
		p.f.add(fromError(err, place))
		return nil, place, false
	}
	return text, place, true
}
