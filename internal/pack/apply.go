package pack

import (
	"context"
	"errors"
	"slices"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// Choice selects one candidate. ReplaceID is the id of the imported skill that
// it may take the place of, or "".
type Choice struct {
	Path      string
	ReplaceID string
}

// Status is how one item ended.
type Status string

// The ends of an item.
const (
	StatusImported  Status = "imported"
	StatusUnchanged Status = "unchanged"
	StatusUpdated   Status = "updated"
	StatusError     Status = "error"
)

// Result is the end of one item, in the order they were chosen.
type Result struct {
	Path    string `json:"path"`
	ID      string `json:"id,omitempty"` // folder below Into
	Status  Status `json:"status"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Hash    string `json:"contentHash,omitempty"`
}

// Applied is the answer to an apply.
type Applied struct {
	Into    string   `json:"into"`
	Results []Result `json:"results"`
}

// Failed counts the items that did not succeed.
func (a *Applied) Failed() int {
	n := 0
	for i := range a.Results {
		if a.Results[i].Status == StatusError {
			n++
		}
	}
	return n
}

// Apply installs what was chosen of a preview, each item on its own: one that
// fails leaves the others alone. all chooses every importable candidate beside
// choices. With neither, a preview of one candidate means that one. The error
// is a *Refusal when nothing was tried.
func (im *Importer) Apply(ctx context.Context, unsafeToken string, choices []Choice, all bool) (*Applied, error) {
	l, err := lock(ctx, im.Store)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	r, err := im.recall(l, unsafeToken)
	if err != nil {
		return nil, err
	}
	choices, err = choose(r, choices, all)
	if err != nil {
		return nil, err
	}
	src, b, installed, err := im.again(ctx, l, r)
	if err != nil {
		return nil, err
	}
	defer src.close()
	// From here on the token is used, whatever happens.
	if err := l.Delete(previewKind, ownerID(im.Owner)); err != nil {
		return nil, err
	}
	if r.Fetched != "" {
		defer l.DropBlob(r.Fetched) // what stays is dropped with the next preview
	}
	a := &applier{im: im, lock: l, record: r, source: src, bundle: b, installed: installed, done: map[string]bool{}}
	out := &Applied{Into: r.Into, Results: []Result{}}
	for _, c := range choices {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out.Results = append(out.Results, a.item(ctx, c))
	}
	return out, nil
}

func choose(r *record, choices []Choice, all bool) ([]Choice, error) {
	if all {
		for _, item := range r.Items {
			chosen := slices.ContainsFunc(choices, func(c Choice) bool { return c.Path == item.Path })
			if item.Importable && !chosen {
				choices = append(choices, Choice{Path: item.Path})
			}
		}
	}
	if len(choices) > 0 {
		return choices, nil
	}
	if len(r.Items) == 1 {
		return []Choice{{Path: r.Items[0].Path}}, nil
	}
	paths := []string{}
	for _, item := range r.Items {
		paths = append(paths, item.Path)
	}
	return nil, refuse(CodeChoose, "--select PATH for each, or --all", "the bundle holds %d skills, choose: %s", len(paths), shownList(paths))
}

// again opens the source of a preview and proves that neither it nor the
// installed skills have changed.
func (im *Importer) again(ctx context.Context, l *store.Lock, r *record) (*source, *bundle, []Installed, error) {
	installed, err := listInstalled(ctx, r.Into)
	if err != nil {
		return nil, nil, nil, err
	}
	if revisionOf(installed) != r.Revision {
		return nil, nil, nil, im.burn(l, r, refuse(CodeCatalogChanged, "preview again", "the skills in %s changed since the preview", archive.Shown(r.Into)))
	}
	src, err := im.reopen(ctx, l, r)
	if err == nil {
		if err = im.identify(ctx, src); err != nil {
			src.close()
		}
	}
	if err != nil {
		return nil, nil, nil, im.burn(l, r, refuse(CodeSourceChanged, "preview again", "the source cannot be read as it was previewed: %v", err))
	}
	if src.sha256 != r.ArchiveSHA256 || src.info.Kind != r.Source.Kind {
		src.close()
		return nil, nil, nil, im.burn(l, r, refuse(CodeSourceChanged, "preview again", "%s changed since the preview", archive.Shown(r.Source.URL)))
	}
	b, err := newBundle(src.tree, im.Store)
	if err != nil {
		src.close()
		return nil, nil, nil, err
	}
	return src, b, installed, nil
}

// burn makes a token useless that stands for what is no longer there.
func (im *Importer) burn(l *store.Lock, r *record, why error) error {
	if err := forget(l, ownerID(im.Owner), r); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func (im *Importer) reopen(ctx context.Context, l *store.Lock, r *record) (*source, error) {
	if r.Source.Kind != KindGitHub {
		return im.openSource(ctx, r.Source.URL)
	}
	f, err := l.OpenBlob(r.Fetched)
	if err != nil {
		return nil, err
	}
	src, err := readZip(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	src.info = r.Source
	return src, nil
}
