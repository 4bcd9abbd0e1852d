package catalog

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// MaxRead is how much of one file is handed out.
	MaxRead = 1 << 20
	// MaxBatch is how many bytes of files one call may ask for, and MaxPaths
	// how many files.
	MaxBatch = 4 << 20
	MaxPaths = 8
)

// The encodings of Content.
const (
	EncodingText   = "utf-8"
	EncodingBase64 = "base64"
)

// Content is what a client gets of one file.
type Content struct {
	Path string
	// Err is why there is no content; then the fields below are zero.
	Err error
	// Size is the file's, in bytes.
	Size      int64
	MediaType string
	// Encoding is EncodingText or EncodingBase64, and says how Data is to be
	// sent. Bytes that are UTF-8 without NUL are text.
	Encoding string
	// Truncated says that Data is only the beginning; Note says so in words.
	Truncated bool
	Note      string
	// Data is the bytes as they are in the file.
	Data string
}

// Content gives the data as Encoding has it.
func (c *Content) Content() string {
	if c.Encoding == EncodingBase64 {
		return base64.StdEncoding.EncodeToString([]byte(c.Data))
	}
	return c.Data
}

// Read gives the file at a path of the skill, its first limit bytes at most.
// The path is resolved anew. Err of the result is set instead of an error.
func (s *Skill) Read(unsafePath string, limit int64) Content {
	r, err := s.reach(unsafePath)
	if err != nil {
		return Content{Path: unsafePath, Err: err}
	}
	return r.content(limit)
}

// content reads the file and decides how it is handed out.
func (r *Resolved) content(limit int64) Content {
	data, size, err := r.read(limit)
	if err != nil {
		return Content{Path: r.Path, Err: fmt.Errorf("%s cannot be read: %w", quotePath(r.Path), plain(err))}
	}
	c := Content{Path: r.Path, Size: max(size, int64(len(data))), MediaType: MediaType(r.Path)}
	var text bool
	c.Data, text = cut(data, limit)
	if int64(len(data)) > limit {
		c.Truncated = true
		c.Note = fmt.Sprintf("the file has %d bytes; only its first %d are here", c.Size, limit)
	}
	c.Encoding = EncodingBase64
	if text {
		c.Encoding = EncodingText
	}
	return c
}

// cut gives the part of a file that is handed out, and whether it is text.
// Text is cut between characters.
func cut(data string, limit int64) (served string, text bool) {
	if int64(len(data)) <= limit {
		return data, isText(data)
	}
	rest := data[limit:]
	data = data[:limit]
	whole := wholeCharacters(data)
	// A character that was split goes on behind the cut; a broken one does not.
	broken := len(whole) < len(data) && utf8.RuneStart(rest[0])
	if !broken && isText(whole) {
		return whole, true
	}
	return data, false
}

// isText reports whether bytes are UTF-8 and hold no NUL.
func isText(b string) bool { return strings.IndexByte(b, 0) < 0 && utf8.ValidString(b) }

// ReadBatch gives several files, in the order asked for and repeated where
// asked for twice. A file that cannot be read has its own error; a batch that
// is too large as a whole is refused before anything is read.
func (s *Skill) ReadBatch(unsafePaths []string) ([]Content, error) {
	if len(unsafePaths) == 0 || len(unsafePaths) > MaxPaths {
		return nil, &Refused{fmt.Sprintf("%d paths; a call may name 1 to %d", len(unsafePaths), MaxPaths), ""}
	}
	out := make([]Content, len(unsafePaths))
	found := make([]*Resolved, len(unsafePaths))
	planned := int64(0)
	for i, path := range unsafePaths {
		r, err := s.reach(path)
		if err != nil {
			out[i] = Content{Path: path, Err: err}
			continue
		}
		found[i] = r
		planned += min(r.Size, MaxRead)
	}
	if planned > MaxBatch {
		for _, r := range found {
			r.drop()
		}
		return nil, &Refused{fmt.Sprintf("the %d paths are %d bytes together, over this call's %d-byte limit", len(unsafePaths), planned, MaxBatch),
			"ask for fewer files at a time"}
	}
	var readers sync.WaitGroup
	for i, r := range found {
		if r == nil {
			continue
		}
		if len(found) == 1 || r.Size < alone {
			out[i] = r.content(MaxRead)
			continue
		}
		readers.Go(func() { out[i] = r.content(MaxRead) })
	}
	readers.Wait()
	fit(out)
	return out, nil
}

// alone is the size from which a file of a batch is read beside the others:
// below, starting that takes longer than reading.
const alone = 128 << 10
