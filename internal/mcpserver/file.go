package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/rpc"
)

// maxEchoedPath is how much of a path an answer repeats; no usable path is
// longer (the contract, 4.1), and eight of any length would not fit a message.
const maxEchoedPath = 4096

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
	paths, err := a.texts("paths", true, catalog.MaxPaths, 1)
	if err != nil {
		return invalid(toolFile, err), nil
	}
	sk, err := s.now().find(name)
	if err != nil {
		return failed(err), nil
	}
	read, err := sk.ReadBatch(paths)
	if err != nil {
		return failed(err), nil
	}
	out := filed{Skill: sk.Name, Files: make([]any, len(read))}
	var keys []string
	var fills []rpc.Fill
	for i, c := range read {
		if c.Err != nil {
			out.Files[i] = fileError{cut(c.Path, maxEchoedPath), redact(c.Err.Error())}
			continue
		}
		out.Files[i] = fileEntry{c.Path, c.Size, c.MediaType, c.Encoding, c.Truncated, c.Note, ""}
		keys = append(keys, "content")
		fills = append(fills, rpc.Fill{Text: c.Data, Base64: c.Encoding == catalog.EncodingBase64})
	}
	return result(out, keys, fills)
}
