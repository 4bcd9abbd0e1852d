package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxTail is how much of the end of a file Last looks at: about 1,000 lines.
const maxTail = 256 << 10

// Last reads the newest entries of one event from the end of a file, newest
// first, at most n. What is no entry is passed over, as a line that is being
// written may be. A file that is not there has no entries.
func Last(path, event string, n int) ([]Entry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // never waits for the writer of a FIFO
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the audit: %s is not a regular file", path)
	}
	from := max(info.Size()-maxTail, 0)
	tail, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, from, maxTail), maxTail))
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	if from > 0 { // begins within a line
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	return newest(tail, event, n), nil
}

// newest gives the last n entries of an event, last first.
func newest(text []byte, event string, n int) []Entry {
	var out []Entry
	lines := bytes.Split(text, []byte{'\n'})
	for i := len(lines) - 1; i >= 0 && len(out) < n; i-- {
		var e Entry
		if json.Unmarshal(lines[i], &e) == nil && e.Event == event {
			out = append(out, e)
		}
	}
	return out
}
