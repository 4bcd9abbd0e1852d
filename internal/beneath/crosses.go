package beneath

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks ends the lookup of a loop. No system opens a path by more links: Linux
// follows 40, Windows 63.
const maxLinks = 255

// Crosses gives the first of trees that a lookup of an absolute path comes by,
// in a link on the way or at its end; "" when it stays out of all. Whoever may
// write there decides what the path is.
func Crosses(path string, trees []string) string {
	type tree struct {
		path string
		info os.FileInfo
	}
	var known []tree
	for _, t := range trees {
		if info, err := os.Stat(t); err == nil {
			known = append(known, tree{t, info})
		}
	}
	at, rest := root(path), strings.TrimPrefix(filepath.Clean(path), root(path))
	for hops := 0; hops < maxLinks; {
		if info, err := os.Stat(at); err == nil {
			for _, t := range known {
				if os.SameFile(info, t.info) {
					return t.path
				}
			}
		}
		var part string
		if part, rest, _ = strings.Cut(rest, string(filepath.Separator)); part == "" {
			return ""
		}
		next := filepath.Join(at, part)
		to, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		hops++
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		at, rest = root(to), filepath.Join(strings.TrimPrefix(filepath.Clean(to), root(to)), rest)
	}
	return ""
}

// root is the top of the tree that an absolute path is in.
func root(path string) string {
	return filepath.VolumeName(path) + string(filepath.Separator)
}
