package frontlock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"skill-mcp/internal/report"
)

func TestTheStrongestUserThatCanReadTheRootsIsTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		s := scene(t, os.Geteuid())
		if id := Choose(s.Options); id.UID != -1 {
			t.Errorf("a plain user becomes %+v", id)
		}
		return
	}
	for _, c := range []struct {
		name    string
		prepare func(root string) error
		uid     int
	}{
		{"a data directory of root", func(r string) error { return os.Chmod(filepath.Join(filepath.Dir(r), "store"), 0o700) }, 0},
		{"a data directory of one user", func(r string) error {
			store := filepath.Join(filepath.Dir(r), "store")
			return errors.Join(os.Chmod(store, 0o700), os.Chown(store, 4343, 4343))
		}, 4343},
		{"a root of one user and a data directory of another", func(r string) error {
			store := filepath.Join(filepath.Dir(r), "store")
			return errors.Join(chownTree(r, 4242, 0o700), os.Chmod(store, 0o700), os.Chown(store, 4343, 4343))
		}, 4242},
		{"roots for everybody", func(string) error { return nil }, Nobody},
		{"a root of one user", func(r string) error { return chownTree(r, 4242, 0o700) }, 4242},
		{"a root of root", func(r string) error { return chownTree(r, 0, 0o700) }, 0},
		{"one skill is closed to others", func(r string) error { return os.Chmod(filepath.Join(r, "skill", "SKILL.md"), 0o600) }, 0},
		{"a root that is not there", os.RemoveAll, Nobody},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scene(t, Nobody)
			store := filepath.Join(filepath.Dir(s.Options.Roots[0]), "store")
			if err := errors.Join(os.Mkdir(store, 0o777), os.Chmod(store, 0o777)); err != nil {
				t.Fatal(err)
			}
			s.Options.Enter = []string{store}
			if err := c.prepare(s.Options.Roots[0]); err != nil {
				t.Fatal(err)
			}
			s.Acts, s.Early = []string{"read-root", "setuid-0", "exec-setuid"}, 0
			o := start(t, s, 0)
			if o.Report.UID != c.uid || o.Err != "" {
				t.Fatalf("runs as uid %d, want %d (%s)", o.Report.UID, c.uid, o.Err)
			}
			if c.name != "a root that is not there" && o.Acts["read-root"] != "ok" {
				t.Errorf("reads its root: %s", o.Acts["read-root"])
			}
			if row := o.Report.Row(PartCaps); row.Got != report.Enforced || row.Level != "all sets empty" {
				t.Errorf("capabilities: %+v", row)
			}
			if row := o.Report.Row(PartUser); (row.Got == report.Partial) != (c.uid == 0) {
				t.Errorf("user: %+v", row)
			}
		})
	}
}

// chownTree gives a tree to a user, closed to others.
func chownTree(dir string, uid int, mode os.FileMode) error {
	return filepath.Walk(dir, func(p string, st os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if st.IsDir() {
			if err := os.Chmod(p, mode); err != nil {
				return err
			}
		}
		return os.Lchown(p, uid, uid)
	})
}
