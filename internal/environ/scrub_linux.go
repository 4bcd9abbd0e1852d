package environ

import (
	"errors"
	"os"

	"skill-mcp/internal/wire"
)

// Scrub wipes the exec-time environment block and reads it back. Go copied
// the variables when the process began, so they stay usable.
//
// Prevents: a script reading the server's secrets from /proc/PID/environ.
// Order: before the process is made undumpable, which gives /proc/self/mem to
// root and so takes it from a plain user.
func Scrub() wire.Scrub { return scrubState(wipe()) }

// wipe writes zeros over the block. A block that cannot be found is left alone.
func wipe() (int64, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	start, end, err := envRange(stat)
	if err != nil {
		return 0, err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	if _, err := mem.WriteAt(make([]byte, end-start), start); err != nil {
		return 0, err
	}
	left, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return 0, err
	}
	for _, b := range left {
		if b != 0 {
			return 0, errors.New("/proc/self/environ still reads non-empty")
		}
	}
	return end - start, nil
}
