package pack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"skill-mcp/internal/store"
)

// tokenLife is how long what was previewed may be applied.
const tokenLife = 10 * time.Minute

// previewKind is the kind of object a preview is remembered as, one an owner.
const previewKind = "previews"

// record is what is remembered of a preview: what was seen, not the token.
type record struct {
	Version       int          `json:"version"` // 1
	TokenSHA256   string       `json:"tokenSha256"`
	Owner         string       `json:"owner"`
	Source        SourceInfo   `json:"source"`
	Fetched       string       `json:"fetched,omitempty"`
	ArchiveSHA256 string       `json:"archiveSha256,omitempty"`
	Into          string       `json:"into"`
	Revision      string       `json:"revision"`
	Expires       time.Time    `json:"expires"`
	Items         []recordItem `json:"items"`
}

// recordItem is one candidate of a preview.
type recordItem struct {
	Path       string `json:"path"`
	Part       string `json:"part,omitempty"`
	Root       string `json:"root,omitempty"`
	Name       string `json:"name,omitempty"`
	Hash       string `json:"hash,omitempty"`
	Importable bool   `json:"importable,omitempty"`
	Why        string `json:"why,omitempty"` // why it is not importable
}

// lockWait is how long another process may hold the store before a command
// gives up.
const lockWait = 30 * time.Second

func lock(ctx context.Context, s *store.Store) (*store.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return s.Lock(ctx)
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// ownerID makes an object id of an owner. One owner has one preview: a new one
// takes the place of the old.
func ownerID(owner string) string { return hashText(owner)[:32] }

// remember makes the token of a preview and keeps what it stands for.
func (im *Importer) remember(ctx context.Context, src *source, p *Preview, revision string) error {
	var secret [32]byte
	// rand.Read never fails since Go 1.24.
	_, _ = rand.Read(secret[:])
	p.Token, p.ExpiresAt = hex.EncodeToString(secret[:]), im.now().Add(tokenLife).Truncate(time.Second)
	r := record{
		Version: 1, TokenSHA256: hashText(p.Token), Owner: im.Owner, Source: src.info,
		ArchiveSHA256: src.sha256, Into: im.Into, Revision: revision, Expires: p.ExpiresAt, Items: []recordItem{},
	}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		item := recordItem{Path: c.Path, Part: c.part, Root: c.root, Name: c.InstallName, Hash: c.ContentHash, Importable: c.Importable}
		for _, d := range c.Diagnostics {
			if d.Level == LevelError && item.Why == "" {
				item.Why = d.Code + ": " + d.Message
			}
		}
		r.Items = append(r.Items, item)
	}
	l, err := lock(ctx, im.Store)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if err := forgetOld(l, im.now(), im.Owner); err != nil {
		return err
	}
	if src.spool != nil {
		r.Fetched, err = l.KeepBlob(func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(src.spool, 0, src.size))
			return err
		})
		if err != nil {
			return fmt.Errorf("keep what was fetched: %w", err)
		}
	}
	return l.Put(previewKind, ownerID(im.Owner), r)
}

// forgetOld drops this owner's last preview, everybody's expired ones, and
// fetched archives that belong to none.
func forgetOld(l *store.Lock, now time.Time, owner string) error {
	ids, err := l.List(previewKind)
	if err != nil {
		return err
	}
	used := []string{}
	for _, id := range ids {
		var r record
		if err := l.Get(previewKind, id, &r); err == nil && r.Owner != owner && now.Before(r.Expires) {
			used = append(used, r.Fetched)
			continue
		}
		if err := l.Delete(previewKind, id); err != nil {
			return err
		}
	}
	return l.KeepOnly(used)
}

func forget(l *store.Lock, id string, r *record) error {
	if r.Fetched != "" {
		if err := l.DropBlob(r.Fetched); err != nil {
			return err
		}
	}
	return l.Delete(previewKind, id)
}

// recall finds what a token stands for. Unknown, used and another owner's are
// one answer: the difference is nobody's business.
func (im *Importer) recall(l *store.Lock, unsafeToken string) (*record, error) {
	var r record
	id := ownerID(im.Owner)
	if err := l.Get(previewKind, id, &r); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil, unknownToken()
		}
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(hashText(unsafeToken)), []byte(r.TokenSHA256)) != 1 || r.Owner != im.Owner || r.Version != 1 {
		return nil, unknownToken()
	}
	if !im.now().Before(r.Expires) {
		if err := forget(l, id, &r); err != nil {
			return nil, err
		}
		return nil, refuse(CodeTokenExpired, "preview again", "the token is older than %v", tokenLife)
	}
	return &r, nil
}

func unknownToken() error {
	return refuse(CodeTokenUnknown, "preview again and use its token", "the token is not one of this owner's last preview, or it was used already")
}
