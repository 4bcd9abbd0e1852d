package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"skill-mcp/internal/strictjson"

	"github.com/gofrs/flock"
)

// WorkFolder is the folder below every base in which a change is staged. It
// exists only while a change is going on.
const WorkFolder = ".skill-mcp"

// maxObject bounds what is read of one object, in bytes: far above any object
// the product writes.
const maxObject = 16 << 20

// ErrNotFound is the cause when there is no object of that name.
var ErrNotFound = fs.ErrNotExist

// Store is one store folder, open. Reading needs no lock.
type Store struct {
	root *os.Root
	dir  string

	// Step, when set, is called with a name before each step of a change. Tests
	// use it to end the process there.
	Step func(name string)

	noExchange bool // tests: behave as on a file system without RENAME_EXCHANGE
}

// DefaultDir is $XDG_DATA_HOME/skill-mcp, or ~/.local/share/skill-mcp.
func DefaultDir() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "skill-mcp"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder: %w (set XDG_DATA_HOME or --store)", err)
	}
	return filepath.Join(home, ".local", "share", "skill-mcp"), nil
}

// Open opens the store at dir and makes the folder (mode 0700) when there is
// none.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Store{root: root, dir: dir}, nil
}

// Dir is the absolute path of the store.
func (s *Store) Dir() string { return s.dir }

// Close ends the use of the store.
func (s *Store) Close() error { return s.root.Close() }

func (s *Store) step(name string) {
	if s.Step != nil {
		s.Step(name)
	}
}

var (
	kindRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })
	idRule   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })
)

// reserved are the folders of the store that hold no objects.
var reserved = []string{"journal", "spool", "blobs", "lock", "skills"}

func objectPath(kind, id string) (string, error) {
	if !kindRule().MatchString(kind) || slices.Contains(reserved, kind) {
		return "", fmt.Errorf("object kind %q is not allowed", kind)
	}
	if !idRule().MatchString(id) || strings.HasSuffix(id, ".json") {
		return "", fmt.Errorf("object id %q is not allowed", id)
	}
	return kind + "/" + id + ".json", nil
}

// Get reads an object into the struct that into points to, by exact keys. The
// error wraps ErrNotFound when there is none.
func (s *Store) Get(kind, id string, into any) error {
	data, err := s.Raw(kind, id)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(data, into); err != nil {
		return fmt.Errorf("read %s %q: %w", kind, id, err)
	}
	return nil
}

// Raw gives the bytes of an object.
func (s *Store) Raw(kind, id string) ([]byte, error) {
	name, err := objectPath(kind, id)
	if err != nil {
		return nil, err
	}
	return readFile(s.root, name)
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxObject+1))
	if err == nil && len(data) > maxObject {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxObject)
	}
	return data, err
}

// List gives the ids of all objects of a kind, sorted.
func (s *Store) List(kind string) ([]string, error) {
	if _, err := objectPath(kind, "x"); err != nil {
		return nil, err
	}
	return listJSON(s.root, kind)
}

func listJSON(root *os.Root, dir string) ([]string, error) {
	d, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	ids := []string{}
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ".json"); ok && idRule().MatchString(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Spool gives an empty file for reading and writing that is gone when it is
// closed. Where the system allows, it never has a name that outlives the call.
func (s *Store) Spool() (*Spool, error) {
	if err := s.root.MkdirAll("spool", 0o700); err != nil {
		return nil, fmt.Errorf("make spool folder: %w", err)
	}
	name := "spool/" + randomID()
	f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make spool file: %w", err)
	}
	sp := &Spool{File: f, root: s.root, name: name}
	if s.root.Remove(name) == nil {
		sp.name = ""
	}
	return sp, nil
}

// Spool is a temporary file of the store.
type Spool struct {
	*os.File
	root *os.Root
	name string // "" when it is removed already
}

// Close closes the file and with that frees its space.
func (s *Spool) Close() error {
	err := s.File.Close()
	if s.name != "" {
		err = errors.Join(err, ignoreMissing(s.root.Remove(s.name)))
	}
	return err
}

// Unfinished says whether a journal of an earlier change is there. Whoever takes
// the lock then recovers.
func (s *Store) Unfinished() bool {
	ids, err := listJSON(s.root, "journal")
	return err == nil && len(ids) > 0
}

// Lock is the right to change the store. There is one at a time on a machine.
type Lock struct {
	*Store
	lock *flock.Flock
}

// BlockedError says that an earlier change is unfinished and cannot be undone;
// nothing is changed until that is put right by hand.
type BlockedError struct {
	Journal string // path of the journal
	Err     error
}

// Error names the journal and the cause.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("an earlier change could not be undone, so nothing more is changed: journal %s: %v", e.Journal, e.Err)
}

// Unwrap gives the cause.
func (e *BlockedError) Unwrap() error { return e.Err }

// Lock waits for the right to change the store until ctx is done, then recovers
// what an earlier process left. The error is a *BlockedError when that is
// impossible.
func (s *Store) Lock(ctx context.Context) (*Lock, error) {
	l := &Lock{Store: s, lock: flock.New(filepath.Join(s.dir, "lock"))}
	if ok, err := l.lock.TryLockContext(ctx, retry); err != nil || !ok {
		return nil, fmt.Errorf("lock the store %s (another skill-mcp may be changing it): %w", s.dir, err)
	}
	if err := l.recover(ctx); err != nil {
		l.Unlock()
		return nil, err
	}
	return l, nil
}

// Unlock gives the right back.
func (l *Lock) Unlock() {
	// The descriptor is closed either way, and that alone frees the lock.
	_ = l.lock.Unlock()
}
