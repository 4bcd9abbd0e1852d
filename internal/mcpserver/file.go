package mcpserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxFile is how much of one file is read (the contract, 4.3).
	maxFile = 1048576
	// maxBatch is what the files of one call may have together.
	maxBatch = 4194304
	// maxEchoedPath is how much of a path an answer repeats; no usable path is
	// longer (4.1), and eight of any length would not fit a message.
	maxEchoedPath = 4096
)

// filed is skill_file's answer.
type filed struct {
	Skill string `json:"skill"`
	Files []any  `json:"files"` // fileEntry or fileError
}

// fileEntry is one file that was read; the order of the fields is the contract's.
type fileEntry struct {
	Path           string `json:"path"`
	Size           int64  `json:"size"`
	MediaType      string `json:"mediaType"`
	Encoding       string `json:"encoding"` // utf-8 or base64
	Truncated      bool   `json:"truncated"`
	TruncationNote string `json:"truncationNote,omitempty"`
	Content        string `json:"content"`
}

// fileError is one that was not.
type fileError struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// handleFile answers skill_file.
func (s *Server) handleFile(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	a, err := readArguments(r, "name", "paths")
	if err != nil {
		return invalid(toolFile, err), nil
	}
	name, err := a.text("name", true)
	if err != nil {
		return invalid(toolFile, err), nil
	}
	paths, err := a.texts("paths", true, maxPaths, 1)
	if err != nil {
		return invalid(toolFile, err), nil
	}
	v := s.now()
	sk, err := v.find(name)
	if err != nil {
		return failed(err), nil
	}
	entries, err := readBatch(v.Catalog, sk, paths)
	if err != nil {
		return failed(err), nil
	}
	fitFiles(entries)
	return result(filed{sk.Name, entries})
}

// readBatch looks at all files before it reads one, so that a call that asks
// for too much costs nothing.
func readBatch(c Catalog, sk *Skill, paths []string) ([]any, error) {
	entries := make([]any, len(paths))
	planned := int64(0)
	for i, p := range paths {
		size, err := c.Stat(sk, p)
		if err != nil {
			entries[i] = fileError{cut(p, maxEchoedPath), redact(err.Error())}
			continue
		}
		planned += min(size, maxFile)
	}
	if planned > maxBatch {
		return nil, refuse("ask for fewer files in one call",
			"%d paths would be %d bytes, over this call's %d-byte limit", len(paths), planned, maxBatch)
	}
	for i, p := range paths {
		if entries[i] != nil {
			continue
		}
		got, err := c.Read(sk, p, maxFile)
		if err != nil {
			entries[i] = fileError{cut(p, maxEchoedPath), redact(err.Error())}
			continue
		}
		entries[i] = newFileEntry(p, got)
	}
	return entries, nil
}

// newFileEntry decides how the bytes of a file are sent.
func newFileEntry(p string, got Content) fileEntry {
	e := fileEntry{Path: p, Size: got.Size, MediaType: mediaType(p), Truncated: got.Truncated}
	text, ok := asText(got.Data, e.Truncated)
	if e.Encoding = "utf-8"; ok {
		e.Content = text
	} else {
		e.Encoding, e.Content = "base64", base64.StdEncoding.EncodeToString(got.Data)
	}
	if e.Truncated {
		e.TruncationNote = fmt.Sprintf("the file has %d bytes; only the first %d are read", got.Size, maxFile)
	}
	return e
}

// asText gives data as text, when it is UTF-8 without NUL. When it was cut, an
// incomplete last character is left out, so that a cut text stays text.
func asText(data []byte, wasCut bool) (string, bool) {
	if wasCut {
		for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
			if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					data = data[:len(data)-n]
				}
				break
			}
		}
	}
	text := string(data)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", false
	}
	return text, true
}

// fitFiles keeps a legal batch below the size of a message: text full of
// characters that must be escaped can grow sevenfold. The texts that would be
// longest are sent as base64, longest first, until the rest fits.
func fitFiles(entries []any) {
	raw := 0
	for _, e := range entries {
		if f, ok := e.(fileEntry); ok {
			raw += len(f.Content)
		}
	}
	if 7*raw+len(entries)*entryRoom <= maxResult { // the usual case needs no count
		return
	}
	cost := make([]int, len(entries))
	total := 0
	for i, e := range entries {
		if f, ok := e.(fileEntry); ok {
			cost[i] = textCost(f.Content)
		}
		total += cost[i] + entryRoom
	}
	for total > maxResult {
		longest := -1
		for i, e := range entries {
			if f, ok := e.(fileEntry); ok && f.Encoding == "utf-8" && (longest < 0 || cost[i] > cost[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		f := entries[longest].(fileEntry)
		f.Encoding, f.Content = "base64", base64.StdEncoding.EncodeToString([]byte(f.Content))
		total += len(f.Content) - cost[longest]
		cost[longest] = len(f.Content)
		entries[longest] = f
	}
}

// entryRoom is what an entry can take besides its content: a path of 1,024
// UTF-16 units, each a control character, its error, and the keys.
const entryRoom = 16 << 10

// mediaType goes by the extension alone (the contract, 4.5).
func mediaType(p string) string {
	name := path.Base(p)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "application/octet-stream"
	}
	switch strings.ToLower(name[dot+1:]) {
	case "md":
		return "text/markdown"
	case "txt":
		return "text/plain"
	case "json":
		return "application/json"
	case "yaml", "yml":
		return "application/yaml"
	case "csv":
		return "text/csv"
	case "js", "mjs":
		return "text/javascript"
	case "ts":
		return "text/typescript"
	case "py":
		return "text/x-python"
	case "sh":
		return "application/x-sh"
	case "html":
		return "text/html"
	case "css":
		return "text/css"
	case "xml", "xsd":
		return "application/xml"
	case "svg":
		return "image/svg+xml"
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "gif":
		return "image/gif"
	case "webp":
		return "image/webp"
	case "pdf":
		return "application/pdf"
	case "zip":
		return "application/zip"
	}
	return "application/octet-stream"
}
