package catalog

import "strings"

// mediaTypes is by extension alone; whether content is text is another matter.
var mediaTypes = map[string]string{
	"md": "text/markdown", "txt": "text/plain", "json": "application/json", "yaml": "application/yaml", "yml": "application/yaml",
	"csv": "text/csv", "js": "text/javascript", "mjs": "text/javascript", "ts": "text/typescript", "py": "text/x-python",
	"sh": "application/x-sh", "html": "text/html", "css": "text/css", "xml": "application/xml", "xsd": "application/xml",
	"svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
	"webp": "image/webp", "pdf": "application/pdf", "zip": "application/zip",
}

// MediaType gives the media type of a path by what follows its last dot.
func MediaType(path string) string {
	if t, ok := mediaTypes[strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])]; ok && strings.Contains(path, ".") {
		return t
	}
	return "application/octet-stream"
}
