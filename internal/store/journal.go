package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"skill-mcp/internal/strictjson"
)

// phase is how far a change got. Only the word "done" makes it lasting.
type phase string

const (
	staging  phase = "staging" // nothing in place was touched
	renaming phase = "commit"  // some of the renames may have happened
	done     phase = "done"    // all of them have; only cleaning is left
)

// journal is what is written down of a change: places and digests, no content.
type journal struct {
	Version int      `json:"version"` // 1
	ID      string   `json:"id"`
	What    string   `json:"what"` // for people
	Phase   phase    `json:"phase"`
	Bases   []string `json:"bases"` // absolute folders; the first is the store
	Ops     []op     `json:"ops"`
}

// op is one target of a change. Its staged form is <base>/.skill-mcp/<id>/<n>,
// n being its place in the list.
type op struct {
	Base   int    `json:"base"`
	Live   string `json:"live"` // below the base: one name, or kind/id.json
	Action action `json:"action"`
	Digest string `json:"digest,omitempty"` // of what is staged, for a put
}

type action string

const (
	put    action = "put"    // the staged form takes the place of live, if there is one
	add    action = "add"    // the staged form becomes live, which must not exist
	remove action = "remove" // live goes
)

func (a action) known() bool { return a == put || a == add || a == remove }

var hexRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// parseJournal refuses whatever this package would not have written, since
// renames follow from it.
func parseJournal(data []byte, id string) (*journal, error) {
	var j journal
	if err := strictjson.Decode(data, &j); err != nil {
		return nil, err
	}
	if j.Version != 1 || j.ID != id || !hexRule().MatchString(id) {
		return nil, fmt.Errorf("not a journal of this version")
	}
	switch j.Phase {
	case staging, renaming, done:
	default:
		return nil, fmt.Errorf("unknown phase %q", j.Phase)
	}
	for _, base := range j.Bases {
		if !filepath.IsAbs(base) {
			return nil, fmt.Errorf("base %q is not absolute", base)
		}
	}
	for i, o := range j.Ops {
		if o.Base < 0 || o.Base >= len(j.Bases) || !o.Action.known() || checkLive(o.Live) != nil {
			return nil, fmt.Errorf("step %d is not one", i)
		}
	}
	return &j, nil
}

// checkLive: one name, or kind/id.json for the store's own objects.
func checkLive(live string) error {
	kind, file, isObject := strings.Cut(live, "/")
	if isObject {
		_, err := objectPath(kind, strings.TrimSuffix(file, ".json"))
		return err
	}
	if !idRule().MatchString(live) {
		return fmt.Errorf("name %q is not allowed as the target of a change", live)
	}
	return nil
}

func (s *Store) writeJournal(j *journal) error {
	data, err := encode(j)
	if err != nil {
		return err
	}
	s.step("journal " + string(j.Phase))
	if err := s.replace("journal/"+j.ID+".json", data); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

func stagePath(id string, n int) string {
	return WorkFolder + "/" + id + "/" + strconv.Itoa(n)
}

// oldPath is where a target waits when two renames have to stand for a swap.
func oldPath(id string, n int) string { return stagePath(id, n) + ".old" }

func exists(root *os.Root, name string) (bool, error) {
	_, err := root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
