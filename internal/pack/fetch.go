package pack

import (
	"context"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// fetchGitHub lists a folder of a repository, downloads what belongs to its
// skills into the store, and gives it as a source. Rights are not in GitHub's
// listings: every file comes without its execute bit.
func (im *Importer) fetchGitHub(ctx context.Context, unsafeSource string) (*source, error) {
	a, err := parseAddress(unsafeSource)
	if err != nil {
		return nil, err
	}
	s, err := im.GitHub.session()
	if err != nil {
		return nil, err
	}
	f := &fetcher{im: im, session: s, address: a}
	if err := f.resolve(ctx); err != nil {
		return nil, err
	}
	if err := f.listAll(ctx); err != nil {
		return nil, err
	}
	if f.raw, err = im.Store.Spool(); err != nil {
		return nil, err
	}
	defer f.raw.Close()
	if err := f.downloadAll(ctx); err != nil {
		return nil, err
	}
	src, err := f.pack()
	if err != nil {
		return nil, err
	}
	src.info = SourceInfo{Kind: KindGitHub, URL: unsafeSource, Ref: f.ref, Commit: f.commit}
	return src, nil
}

// fetcher is one fetch: what was listed and what was downloaded.
type fetcher struct {
	im      *Importer
	session *session
	address *address
	ref     string // as given
	commit  string // what it stands for, "" when GitHub does not say
	folder  string // in the repository

	entries []archive.Entry
	urls    []string // download address of each entry
	raw     *store.Spool
	end     int64
	at      map[int]int64 // offset in raw of each downloaded entry
}

// resolve finds where the ref ends and the path begins, and which commit that
// is. When GitHub knows none of the possible refs, the first part is taken.
func (f *fetcher) resolve(ctx context.Context) error {
	if len(f.address.rest) == 0 {
		var err error
		f.commit, err = f.session.commit(ctx, f.address, "HEAD")
		return err
	}
	// A branch may hold slashes; more than three are not worth the requests.
	for n := 1; n <= min(4, len(f.address.rest)); n++ {
		ref, folder := f.address.split(n)
		commit, err := f.session.commit(ctx, f.address, ref)
		if err != nil {
			return err
		}
		if commit != "" {
			f.ref, f.folder, f.commit = ref, folder, commit
			return nil
		}
	}
	f.ref, f.folder = f.address.split(1)
	return nil
}

func (f *fetcher) revision() string {
	if f.commit != "" {
		return f.commit
	}
	return f.ref
}

// listAll lists what can hold skills: three levels to find them, and all below
// the ones found.
func (f *fetcher) listAll(ctx context.Context) error {
	queue := []string{""}
	for len(queue) > 0 {
		dir := queue[0]
		queue = queue[1:]
		folders, isSkill, err := f.listOne(ctx, dir)
		if err != nil {
			return err
		}
		depth := 0
		if dir != "" {
			depth = strings.Count(dir, "/") + 1
		}
		if !isSkill && !f.inSkill(dir) && depth >= maxRootDepth {
			continue
		}
		queue = append(queue, folders...)
	}
	return nil
}

func (f *fetcher) listOne(ctx context.Context, dir string) (folders []string, isSkill bool, err error) {
	list, err := f.session.list(ctx, f.session.contents(f.address, f.revision(), joinPath(f.folder, dir)))
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(list, func(a, b listed) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		e := f.entry(dir, &list[i])
		f.entries, f.urls = append(f.entries, e), append(f.urls, list[i].DownloadURL)
		if len(f.entries) > MaxEntries {
			return nil, false, refuse("archive."+string(archive.FileCount), "import one folder of it", "the folder holds more than %d entries", MaxEntries)
		}
		isSkill = isSkill || !e.Folder && strings.EqualFold(list[i].Name, documentName)
		if e.Folder && e.Problem == nil && !noise(e.Name) {
			folders = append(folders, e.Name)
		}
	}
	f.im.progress(Step{What: "list", Entries: len(f.entries)})
	return folders, isSkill, nil
}

func (f *fetcher) inSkill(dir string) bool {
	l := classify(f.entries)
	_, ok := l.owner(dir + "/")
	return ok
}

// entry judges one line of a listing like an entry of an archive.
func (f *fetcher) entry(dir string, l *listed) archive.Entry {
	name := joinPath(dir, l.Name)
	e := archive.Entry{Name: name, Folder: l.Type == "dir", Size: l.Size, Compressed: l.Size}
	bad := func(code archive.Code, detail string, actual, limit int64, unit string) {
		e.Problem = &archive.Problem{Code: code, Name: archive.Shown(name), Detail: detail, Actual: actual, Limit: limit, Unit: unit}
	}
	depth := int64(strings.Count(name, "/"))
	switch p := archive.CheckName(name); {
	case p != nil:
		e.Problem = p
	case strings.Contains(l.Name, "/"):
		bad(archive.PathTraversal, "a listing holds a path where a name belongs", 0, 0, "")
	case depth > MaxFolders || e.Folder && depth >= MaxFolders:
		bad(archive.PathDepth, "the path is too deep", depth+1, MaxFolders+1, "segments")
	case e.Folder:
	case l.Type == "symlink", l.Type == "submodule", l.Type == "file" && l.DownloadURL == "":
		bad(archive.LinkUnsupported, "this is a symbolic link or a submodule", 0, 0, "")
	case l.Type != "file" || l.Size < 0:
		bad(archive.SpecialFile, "this is neither a file nor a folder", 0, 0, "")
	case l.Size > MaxNestedBytes:
		bad(archive.FileSize, "the file is too large", l.Size, MaxNestedBytes, "bytes")
	}
	return e
}

// downloadAll fetches what belongs to a skill that is still whole, and
// archives outside all skills.
func (f *fetcher) downloadAll(ctx context.Context) error {
	f.at = map[int]int64{}
	archive.MarkClashes(f.entries)
	l := classify(f.entries)
	wanted := []int{}
	for _, root := range l.roots {
		whole := &skill{}
		if whole = gather(listedTree(f.entries), &l, root); len(whole.faults) == 0 {
			wanted = append(wanted, whole.entries...)
		}
	}
	for _, i := range l.others {
		if e := &f.entries[i]; e.Problem == nil && !e.Folder && isArchiveName(e.Name) {
			wanted = append(wanted, i)
		}
	}
	slices.Sort(wanted)
	for n, i := range wanted {
		if err := f.download(ctx, i); err != nil {
			return err
		}
		f.im.progress(Step{What: "download", Bytes: f.end, Entries: n + 1, TotalEntries: len(wanted)})
	}
	return nil
}

// listedTree lets gather look at names and sizes before anything is there to
// read.
type listedTree []archive.Entry

func (t listedTree) Entries() []archive.Entry { return t }

func (t listedTree) Open(int) (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }

// download appends one file to raw. A file that is not as long as its listing
// says is the fault of that file alone.
func (f *fetcher) download(ctx context.Context, i int) error {
	e := &f.entries[i]
	if err := f.session.count(); err != nil {
		return err
	}
	u, err := url.Parse(f.urls[i])
	if err != nil {
		return refuse("github.answer", "", "GitHub's download address for %s cannot be read", archive.Shown(e.Name))
	}
	limit := int64(MaxFileBytes)
	if isArchiveName(e.Name) {
		limit = MaxNestedBytes
	}
	if limit = min(limit, f.session.left); e.Size > f.session.left {
		return refuse("archive."+string(archive.UncompressedSize), "import one folder of it", "the skills hold more than %d bytes", int64(MaxBundleBytes))
	}
	res, err := f.session.get(ctx, u, "*/*")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := readAll(res, io.NewOffsetWriter(f.raw, f.end), limit)
	if p, ok := err.(*archive.Problem); ok {
		p.Name = archive.Shown(e.Name)
		e.Problem = p
		return nil
	}
	if err != nil {
		return err
	}
	if n != e.Size {
		e.Problem = &archive.Problem{Code: archive.SizeMismatch, Name: archive.Shown(e.Name), Detail: "the download has another length than its listing", Actual: n, Limit: e.Size, Unit: "bytes"}
		return nil
	}
	f.at[i] = f.end
	f.end, f.session.left = f.end+n, f.session.left-n
	return nil
}

// pack makes one archive of what was downloaded. It is what is kept until the
// import is applied, and its hash is what the token is bound to.
func (f *fetcher) pack() (*source, error) {
	files := []archive.File{}
	for i, at := range f.at {
		e := &f.entries[i]
		files = append(files, archive.File{Name: e.Name, Size: e.Size, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(f.raw, at, e.Size)), nil
		}})
	}
	spool, err := f.im.Store.Spool()
	if err != nil {
		return nil, err
	}
	if err := archive.Write(spool, files); err != nil {
		spool.Close()
		return nil, err
	}
	src, err := readZip(spool.File)
	if err != nil {
		spool.Close()
		return nil, err
	}
	src.spool = spool
	src.tree = newFetchedTree(f.entries, src.tree)
	return src, nil
}

// fetchedTree is what was listed, with the bytes of what was downloaded.
type fetchedTree struct {
	listed  []archive.Entry
	packed  archive.Tree
	indexes map[string]int
}

func newFetchedTree(listed []archive.Entry, packed archive.Tree) *fetchedTree {
	t := &fetchedTree{listed: listed, packed: packed, indexes: map[string]int{}}
	for i, e := range packed.Entries() {
		t.indexes[e.Name] = i
	}
	return t
}

// Entries gives the listing.
func (t *fetchedTree) Entries() []archive.Entry { return t.listed }

// Open gives the bytes of a downloaded file.
func (t *fetchedTree) Open(i int) (io.ReadCloser, error) {
	at, ok := t.indexes[t.listed[i].Name]
	if !ok {
		return nil, &archive.Problem{Code: archive.UnreadableArchive, Name: archive.Shown(path.Base(t.listed[i].Name)), Detail: "it was not downloaded"}
	}
	return t.packed.Open(at)
}
