package connector

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"skill-mcp/internal/store"
)

// objectKind is where the store keeps connectors: one file each, the template
// as it is exported.
const objectKind = "connector"

// Stored is what the store keeps of one connector.
type Stored struct {
	ID       string `json:"id"`       // random, never leaves the store
	Revision int    `json:"revision"` // 1, then one more with each change
	Template string `json:"template"` // the document, as it is exported
}

// Shelf is the connectors of one store.
type Shelf struct {
	Store   *store.Store
	BuiltIn []string // ids that nobody may take
}

// errors of the shelf that a caller branches on.
var (
	ErrUnknown = errors.New("no connector of that name is in the store")
	ErrFull    = fmt.Errorf("the store holds %d connectors, which is the most", MaxConnectors)
)

// List gives the names of all connectors, sorted.
func (s Shelf) List() ([]string, error) {
	names, err := s.Store.List(objectKind)
	if err != nil {
		return nil, fmt.Errorf("list the connectors: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Get gives one connector.
func (s Shelf) Get(name string) (Template, Stored, error) {
	var o Stored
	if !nameRule().MatchString(name) || len(name) > maxName {
		return Template{}, o, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	if err := s.Store.Get(objectKind, name, &o); errors.Is(err, fs.ErrNotExist) {
		return Template{}, o, fmt.Errorf("%s: %w", name, ErrUnknown)
	} else if err != nil {
		return Template{}, o, fmt.Errorf("read the connector %s: %w", name, err)
	}
	t, r := Parse([]byte(o.Template), Names{})
	if !r.Ready() {
		return t, o, &NotReadyError{r.Diagnostics}
	}
	return t, o, nil
}

// Names are what a new connector's name is compared with.
func (s Shelf) Names() (Names, error) {
	existing, err := s.List()
	return Names{BuiltIn: s.BuiltIn, Existing: existing}, err
}

// Add stores templates that were read with the names of this shelf: all of
// them or none. Nothing is started, installed or called.
func (s Shelf) Add(ctx context.Context, templates ...Template) error {
	lock, err := s.Store.Lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	names, err := s.Names()
	if err != nil {
		return err
	}
	if len(names.Existing)+len(templates) > MaxConnectors {
		return ErrFull
	}
	objects := make([]Stored, 0, len(templates))
	for _, t := range templates {
		text, err := encode(documentOf(t))
		if err != nil {
			return err
		}
		if _, r := Parse(text, names); !r.Ready() { // the store may have changed since the preview
			return &NotReadyError{r.Diagnostics}
		}
		names.Existing = append(names.Existing, t.Name)
		objects = append(objects, Stored{ID: rand.Text(), Revision: 1, Template: string(text)})
	}
	for i, o := range objects {
		if err := lock.Put(objectKind, templates[i].Name, o); err != nil {
			for _, done := range templates[:i] {
				_ = lock.Delete(objectKind, done.Name)
			}
			return fmt.Errorf("store the connector %s: %w", templates[i].Name, err)
		}
	}
	return nil
}

// Digest is the opaque digest of an exported text, 64 hex digits. A save has to
// repeat the digest of what was previewed.
func (e Exported) Digest() string {
	sum := sha256.Sum256(append([]byte(e.File+"\x00"), e.Text...))
	return hex.EncodeToString(sum[:])
}

// maxPreviews is how many previews are remembered.
const maxPreviews = 64

// Previews remembers, in memory only, what was shown for which connector, so
// that a save writes exactly that. The zero value is ready.
type Previews struct {
	mu    sync.Mutex
	order []string // digests, oldest first
	of    map[string]string
}

// ErrPreviewAgain means that the digest is unknown, too old, or of another
// connector.
var ErrPreviewAgain = errors.New("what would be saved is not what was shown: preview again")

// Show remembers a preview and gives its digest.
func (p *Previews) Show(connector string, e Exported) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]string{}
	}
	d := e.Digest()
	p.order = append(slices.DeleteFunc(p.order, func(o string) bool { return o == d }), d)
	p.of[d] = connector
	for len(p.order) > maxPreviews {
		delete(p.of, p.order[0])
		p.order = p.order[1:]
	}
	return d
}

// Check accepts a save of exactly what was shown for this connector.
func (p *Previews) Check(connector, digest string, e Exported) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of, ok := p.of[digest]; !ok || of != connector || e.Digest() != digest {
		return ErrPreviewAgain
	}
	return nil
}
