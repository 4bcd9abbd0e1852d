package catalog

import (
	"encoding/base64"
	"fmt"
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
	// Encoding is EncodingText or EncodingBase64, and says how Content is to
	// be read. Bytes that are UTF-8 without NUL are text.
	Encoding string
	// Truncated says that Content is only the beginning; Note says so in words.
	Truncated bool
	Note      string
	Content   string
}

// Read gives the file at a path of the skill, its first limit bytes at most.
// The path is resolved anew. Err of the result is set instead of an error.
func (s *Skill) Read(unsafePath string, limit int64) Content {
	r, err := s.Resolve(unsafePath)
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
	served, text := cut(data, limit)
	if int64(len(data)) > limit {
		c.Truncated = true
		c.Note = fmt.Sprintf("the file has %d bytes; only its first %d are here", c.Size, limit)
	}
	if text {
		c.Encoding, c.Content = EncodingText, string(served)
	} else {
		c.Encoding, c.Content = EncodingBase64, base64.StdEncoding.EncodeToString(served)
	}
	return c
}

// cut gives the part of a file that is handed out, and whether it is text.
// Text is cut between characters.
func cut(data []byte, limit int64) (served []byte, text bool) {
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
func isText(b []byte) bool {
	for _, c := range b {
		if c == 0 {
			return false
		}
	}
	return utf8.Valid(b)
}

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
		r, err := s.Resolve(path)
		if err != nil {
			out[i] = Content{Path: path, Err: err}
			continue
		}
		found[i] = r
		planned += min(r.Size, MaxRead)
	}
	if planned > MaxBatch {
		return nil, &Refused{fmt.Sprintf("the %d paths are %d bytes together, over this call's %d-byte limit", len(unsafePaths), planned, MaxBatch),
			"ask for fewer files at a time"}
	}
	var readers sync.WaitGroup
	for i, r := range found {
		if r != nil {
			readers.Go(func() { out[i] = r.content(MaxRead) })
		}
	}
	readers.Wait()
	fit(out)
	return out, nil
}
