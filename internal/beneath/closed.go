package beneath

import (
	"fmt"
	"os"
	"path/filepath"
)

// Closed says what keeps a user who owns nothing on the way, and is in no group
// of it, from reading the file at an absolute real path; "" when nothing does.
// It goes by modes alone: access lists name nobody whom a run is.
func Closed(file string) string {
	info, err := os.Lstat(file)
	if err != nil {
		return err.Error()
	}
	if info.Mode().Perm()&0o004 == 0 {
		return fmt.Sprintf("%s has mode %04o: chmod o+r opens it", file, info.Mode().Perm())
	}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err.Error()
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Sprintf("%s has mode %04o: chmod o+x opens it", dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
