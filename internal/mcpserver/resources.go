package mcpserver

import (
	"context"
	"encoding/json"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/rpc"
)

// maxListed is how many resources are listed (the contract, section 8); the
// others are found by skill_load, the template and resources/directory/read.
const maxListed = 500

// manifestName is the file that makes a folder a skill.
const manifestName = "SKILL.md"

// resourceItem is one resource in a list.
type resourceItem struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MimeType    string `json:"mimeType"`
	Size        *int64 `json:"size,omitempty"`
}

// resourcePage is a page of resources/list and resources/directory/read.
type resourcePage struct {
	Resources []json.RawMessage `json:"resources"`
	Next      string            `json:"nextCursor,omitempty"`
}

// readContents is resources/read's answer.
type readContents struct {
	Contents []readContent `json:"contents"`
}

type readContent struct {
	URI      string         `json:"uri"`
	MimeType string         `json:"mimeType"`
	Text     *string        `json:"text,omitempty"`
	Blob     *string        `json:"blob,omitempty"`
	Meta     map[string]any `json:"_meta,omitempty"`
}

// placed is one file of one skill.
type placed struct {
	skill *catalog.Skill
	file  catalog.File
}

// listResources serves resources/list.
func (s *Server) listResources(_ context.Context, raw json.RawMessage) (any, error) {
	var at string
	if err := params(raw, map[string]*string{"cursor": &at}); err != nil {
		return nil, err
	}
	all := listedFiles(s.now().Catalog)
	key := func(i int) string { return fileURI(all[i].skill.Name, all[i].file.Path) }
	p, err := turn(at, len(all), key, func(i int) (any, error) { return item(all[i].skill, all[i].file), nil })
	return resourcePage{p.items, p.next}, err
}

// listedFiles gives the first files of a catalog, skill by skill. Those beyond
// are not looked at: their sizes cost a call each.
func listedFiles(c *catalog.Catalog) []placed {
	var all []placed
	for _, sk := range c.Skills {
		for _, f := range sk.Files() {
			if all = append(all, placed{sk, f}); len(all) == maxListed {
				return all
			}
		}
	}
	return all
}

// item describes a file. SKILL.md has the name and description of its skill.
func item(sk *catalog.Skill, f catalog.File) resourceItem {
	out := resourceItem{URI: fileURI(sk.Name, f.Path), Title: sk.Name + ": " + f.Path, MimeType: catalog.MediaType(f.Path), Size: &f.Size}
	out.Name = out.URI
	if f.Path == manifestName {
		out.Name = sk.Name
		if sk.Description != nil {
			out.Description = *sk.Description
		}
	}
	return out
}

// templatePage is resources/templates/list's answer.
type templatePage struct {
	Templates []templateItem `json:"resourceTemplates"`
}

type templateItem struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// uriTemplate covers every file of every skill.
const uriTemplate = scheme + "{skill}/{+path}"

// listTemplates serves resources/templates/list.
func (s *Server) listTemplates(context.Context, json.RawMessage) (any, error) {
	return templatePage{[]templateItem{{
		URITemplate: uriTemplate, Name: "skill-file", Title: "File of a skill",
		Description: "Any file of a skill, by the skill's name and the path that skill_load lists.",
	}}}, nil
}

// readResource serves resources/read, by the listed or the raw URI.
func (s *Server) readResource(ctx context.Context, raw json.RawMessage) (any, error) {
	var uri string
	if err := params(raw, map[string]*string{"uri": &uri}); err != nil {
		return nil, err
	}
	skill, path, ok := parseURI(uri)
	sk := s.now().Catalog.Skill(skill)
	if !ok || sk == nil || path == "" {
		return nil, notFound(ctx, uri)
	}
	got := sk.Read(path, catalog.MaxRead)
	if got.Err != nil {
		return nil, notFound(ctx, uri)
	}
	c := readContent{URI: uri, MimeType: got.MediaType}
	content := got.Content()
	if got.Encoding == catalog.EncodingText {
		c.Text = &content
	} else {
		c.Blob = &content
	}
	if got.Truncated {
		c.Meta = map[string]any{"skill-mcp/truncated": true, "skill-mcp/size": got.Size}
	}
	return readContents{[]readContent{c}}, nil
}

// notFound is the error of the request's revision, with a URI of any length cut.
func notFound(ctx context.Context, uri string) error {
	return rpc.ResourceNotFound(ctx, cut(uri, maxEchoedPath))
}
