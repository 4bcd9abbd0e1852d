package specialist

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"skill-mcp/internal/store"
)

// tokenLife is how long a candidate may be installed.
const tokenLife = 10 * time.Minute

// A candidate is an object of this kind, one for each owner, and a folder of
// the same name below candidates/ with the exact bytes.
const (
	candidateKind   = "specialist-candidate"
	candidateFolder = "candidates"
	candidateFile   = "package.zip"
)

// candidate is what is remembered of a preview: not the token.
type candidate struct {
	Version       int       `json:"version"` // 1
	TokenSHA256   string    `json:"tokenSha256"`
	Owner         string    `json:"owner"`
	Expires       time.Time `json:"expires"`
	HasPlan       bool      `json:"hasPlan"`
	ArchiveSHA256 string    `json:"archiveSha256"`
	ID            string    `json:"id"`
	Conflicts     []string  `json:"conflicts"` // names of bundled skills
	LocalIDs      []string  `json:"localIds"`  // of the same, installed
	Impact        string    `json:"impact"`    // digest of the conflicts
	Revision      int       `json:"revision"`  // of the specialist that would be overwritten, 0 without
	State         string    `json:"state"`     // digest of its record
}

// keep makes the token of a preview and keeps the bytes it stands for.
func (s *Shelf) keep(ctx context.Context, out *Preview, p *plan, data []byte) error {
	l, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	var secret [32]byte
	// rand.Read never fails since Go 1.24.
	_, _ = rand.Read(secret[:])
	token := hex.EncodeToString(secret[:])
	expires := s.now().Add(tokenLife)
	c := candidate{
		Version: 1, TokenSHA256: hashText(token), Owner: s.Owner, Expires: expires, HasPlan: !p.blocked(), ArchiveSHA256: hashBytes(data),
		ID: p.parsed.manifest.ID, Conflicts: []string{}, LocalIDs: []string{}, Impact: p.impact(),
	}
	for i := range p.skills {
		if k := &p.skills[i]; k.conflict != nil {
			c.Conflicts, c.LocalIDs = append(c.Conflicts, k.name), append(c.LocalIDs, k.conflict.LocalID)
		}
	}
	if p.previous != nil {
		c.Revision, c.State = p.previous.Revision, recordDigest(p.previous)
	}
	if !c.HasPlan {
		data = nil
	}
	if err := s.forgetExpired(l); err != nil {
		return err
	}
	if err := putCandidate(l, ownerID(s.Owner), &c, data); err != nil {
		return commitError(err)
	}
	out.Token, out.ExpiresAt = token, expires.Truncate(time.Second)
	return nil
}

// recordDigest changes with every change of a record.
func recordDigest(r *Record) string { return digest(r) }

func putCandidate(l *store.Lock, id string, c *candidate, data []byte) error {
	base := filepath.Join(l.Dir(), candidateFolder)
	if err := os.MkdirAll(base, 0o700); err != nil {
		return fmt.Errorf("make the folder of candidates: %w", err)
	}
	tx, err := l.Begin("preview specialist")
	if err != nil {
		return err
	}
	root, err := tx.Folder(base, id)
	if err != nil {
		return errors.Join(err, tx.Abort())
	}
	f, err := root.OpenFile(candidateFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	err = errors.Join(err, root.Close())
	if err == nil {
		err = tx.Put(candidateKind, id, c)
	}
	if err != nil {
		return errors.Join(err, tx.Abort())
	}
	return tx.Commit()
}

// forgetExpired drops everybody's candidates that are too old, so that their
// bytes do not stay.
func (s *Shelf) forgetExpired(l *store.Lock) error {
	ids, err := l.List(candidateKind)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var c candidate
		if err := l.Get(candidateKind, id, &c); err == nil && s.now().Before(c.Expires) {
			continue
		}
		if err := forget(l, id); err != nil {
			return err
		}
	}
	return nil
}

// forget burns a token. The object goes first: without it the bytes mean
// nothing, and the next preview of this owner replaces what is left of them.
func forget(l *store.Lock, id string) error {
	if err := l.Delete(candidateKind, id); err != nil {
		return fmt.Errorf("burn the token: %w", err)
	}
	root, err := os.OpenRoot(filepath.Join(l.Dir(), candidateFolder))
	if err != nil {
		return nil // there never was a candidate with bytes
	}
	defer root.Close()
	// A file that is open elsewhere stays on some systems, without its object.
	_ = root.RemoveAll(id)
	return nil
}

// recall finds what a token stands for. Unknown, used and another owner's are
// one answer: the difference is nobody's business.
func (s *Shelf) recall(l *store.Lock, unsafeToken string) (*candidate, error) {
	var c candidate
	id := ownerID(s.Owner)
	err := l.Get(candidateKind, id, &c)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err != nil || c.Version != 1 || c.Owner != s.Owner || subtle.ConstantTimeCompare([]byte(hashText(unsafeToken)), []byte(c.TokenSHA256)) != 1 {
		return nil, refuse(CodeStaleCandidate, "preview again and use its token", "the token is not one of this owner's last preview, or it was used already")
	}
	if !s.now().Before(c.Expires) {
		if err := forget(l, id); err != nil {
			return nil, err
		}
		return nil, refuse(CodeCandidateExpired, "preview again", "the token is older than %v", tokenLife)
	}
	return &c, nil
}

// candidateBytes gives the bytes of a candidate, proved by their digest.
func (s *Shelf) candidateBytes(c *candidate) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Join(s.Store.Dir(), candidateFolder))
	if err != nil {
		return nil, fmt.Errorf("open the candidate: %w", err)
	}
	defer root.Close()
	f, err := root.Open(ownerID(s.Owner) + "/" + candidateFile)
	if err != nil {
		return nil, fmt.Errorf("open the candidate: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxPackageBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the candidate: %w", err)
	}
	if hashBytes(data) != c.ArchiveSHA256 {
		return nil, errors.New("the bytes of the candidate are not those that were previewed")
	}
	return data, nil
}
