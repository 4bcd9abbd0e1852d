// Command minimal is the smallest useful server on mcp-go's own stdio: one
// tool that answers with files of a folder in the shape that skill_file has,
// made the way the library's documentation shows. The bench compares the
// product with it. It guards nothing and is not part of the product.
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// file is one file of an answer.
type file struct {
	Path     string `json:"path"`
	Size     int    `json:"size"`
	Encoding string `json:"encoding"`
	Content  string `json:"content"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: minimal FOLDER")
		os.Exit(2)
	}
	s := server.NewMCPServer("minimal", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("file", mcp.WithDescription("Reads files."), mcp.WithArray("paths", mcp.Required())), read(os.Args[1]))
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

// read serves files of a folder.
func read(root string) server.ToolHandlerFunc {
	return func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var files []file
		for _, path := range call.GetStringSlice("paths", nil) {
			text, err := os.ReadFile(filepath.Join(root, filepath.Base(path)))
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			f := file{path, len(text), "utf-8", string(text)}
			if !utf8.Valid(text) {
				f.Encoding, f.Content = "base64", base64.StdEncoding.EncodeToString(text)
			}
			files = append(files, f)
		}
		return mcp.NewToolResultJSON(map[string]any{"files": files})
	}
}
