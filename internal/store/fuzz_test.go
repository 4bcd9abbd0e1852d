package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzJournal: whatever a journal says, the renames that follow from it stay in
// its folders, one name deep or at an object of the store.
func FuzzJournal(f *testing.F) {
	const id = "0123456789abcdef0123456789abcdef"
	good := `{"version": 1, "id": "` + id + `", "what": "import pdf", "phase": "commit", "bases": ["/data/skill-mcp", "/home/me/skills"],` +
		` "ops": [{"base": 1, "live": "pdf", "action": "put", "digest": "00"}, {"base": 0, "live": "installed/ab.json", "action": "add"}]}`
	f.Add([]byte(good))
	for _, other := range []string{"../pdf", "a/../../b.json", ".skill-mcp", "/etc", "journal/x", "a/b/c.json", ""} {
		f.Add([]byte(strings.Replace(good, `"live": "pdf"`, `"live": "`+other+`"`, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parseJournal(text, id)
		if err != nil {
			return
		}
		for _, o := range j.Ops {
			if o.Base < 0 || o.Base >= len(j.Bases) || !filepath.IsAbs(j.Bases[o.Base]) {
				t.Fatalf("a base that is none: %+v", o)
			}
			if !filepath.IsLocal(o.Live) || filepath.Clean(o.Live) != o.Live || strings.Count(o.Live, "/") > 1 || strings.HasPrefix(o.Live, WorkFolder) {
				t.Fatalf("a target of a change: %q", o.Live)
			}
		}
	})
}
