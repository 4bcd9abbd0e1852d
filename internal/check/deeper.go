package check

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// maxDeeper is how many entries of a directory are looked at for a hint: a
// package has hundreds, a home folder more than anybody waits for.
const maxDeeper = 20_000

// deeper names the directory that could have been meant where skills lie
// further below than a server looks, as the end of a sentence; "" for none.
func deeper(dir string) string {
	found, seen := "", 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // a hint says nothing of errors
		if seen++; seen > maxDeeper {
			return fs.SkipAll
		}
		if err != nil {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && d.Name() == "SKILL.md" {
			found = filepath.Dir(filepath.Dir(path))
			return fs.SkipAll
		}
		return nil
	})
	if found == "" {
		return ""
	}
	return fmt.Sprintf("; skills lie further below, name their directory: %s", found)
}
