package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/rpc"
)

// The Skills extension (SEP-2640).
const (
	skillsExtension     = "io.modelcontextprotocol/skills"
	methodSkillsList    = "skills/list"
	methodSkillsGet     = "skills/get"
	methodDirectoryRead = "resources/directory/read"
	directoryType       = "inode/directory"
)

// dynamic stands in the place of the list for a skill that has none.
const dynamic = "dynamic"

// entry is one skill of the extension.
type entry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   any             `json:"resources"` // []entryFile or "dynamic"
}

type entryFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256:<hex>
	Size   int64  `json:"size"`
}

// skillPage is a page of skills/list.
type skillPage struct {
	Skills []json.RawMessage `json:"skills"`
	Next   string            `json:"nextCursor,omitempty"`
}

// listSkills serves skills/list: the skills that meet the specification.
func (s *Server) listSkills(ctx context.Context, raw json.RawMessage) (any, error) {
	var at string
	if err := params(raw, map[string]*string{"cursor": &at}); err != nil {
		return nil, err
	}
	var portable []*catalog.Skill
	for _, sk := range s.now().Catalog.Skills {
		if len(sk.NotPortable) == 0 {
			portable = append(portable, sk)
		}
	}
	p, err := turn(at, len(portable), func(i int) string { return portable[i].Name }, func(i int) (any, error) {
		return newEntry(ctx, portable[i])
	})
	return skillPage{p.items, p.next}, err
}

// getSkill serves skills/get.
func (s *Server) getSkill(ctx context.Context, raw json.RawMessage) (any, error) {
	var uri string
	if err := params(raw, map[string]*string{"uri": &uri}); err != nil {
		return nil, err
	}
	name, path, ok := parseURI(uri)
	sk := s.now().Catalog.Skill(name)
	if !ok || sk == nil || path != manifestName || len(sk.NotPortable) > 0 {
		return nil, badURI(uri, "is not the SKILL.md of a skill served here")
	}
	e, err := newEntry(ctx, sk)
	return struct {
		Skill any `json:"skill"`
	}{e}, err
}

// newEntry describes a skill with the digests of its files as they are now.
func newEntry(ctx context.Context, sk *catalog.Skill) (any, error) {
	front, err := sk.Frontmatter.JSON()
	if err != nil {
		return nil, fmt.Errorf("describe the skill %s: %w", quoted(sk.Name), err)
	}
	e := entry{URI: fileURI(sk.Name, manifestName), Frontmatter: front, Resources: dynamic}
	all, isDynamic := sk.ResourceDigests(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if isDynamic {
		return e, nil
	}
	files := make([]entryFile, 0, len(all))
	for _, f := range all {
		files = append(files, entryFile{fileURI(sk.Name, f.Path), f.Digest, f.Size})
	}
	e.Resources = files
	return e, nil
}

// readDirectory serves resources/directory/read: the direct children of a
// skill's folder.
func (s *Server) readDirectory(_ context.Context, raw json.RawMessage) (any, error) {
	var uri, at string
	if err := params(raw, map[string]*string{"uri": &uri, "cursor": &at}); err != nil {
		return nil, err
	}
	name, path, ok := parseURI(uri)
	sk := s.now().Catalog.Skill(name)
	if !ok || sk == nil {
		return nil, badURI(uri, "is not a folder of a skill served here")
	}
	list := children(sk, path)
	if len(list) == 0 {
		return nil, badURI(uri, "is not a folder of a skill served here")
	}
	p, err := turn(at, len(list), func(i int) string { return list[i].URI }, func(i int) (any, error) { return list[i], nil })
	return resourcePage{p.items, p.next}, err
}

// children lists what is directly below folder ("" = the skill), by byte order
// of the names. Folders without a file in them are not part of a skill.
func children(sk *catalog.Skill, folder string) []resourceItem {
	prefix := folder
	if prefix != "" {
		prefix += "/"
	}
	seen := map[string]bool{}
	var out []resourceItem
	for _, f := range sk.Files() {
		rest, ok := strings.CutPrefix(f.Path, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		switch {
		case !deeper:
			it := item(sk, f)
			if f.Path != manifestName {
				it.Name = name
			}
			out = append(out, it)
		case !seen[name]:
			seen[name] = true
			out = append(out, resourceItem{URI: fileURI(sk.Name, prefix+name), Name: name, MimeType: directoryType})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].URI < out[j].URI })
	return out
}

// badURI is the extension's error for a URI that names nothing of its kind.
func badURI(uri, problem string) error {
	uri = cut(uri, maxEchoedPath)
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: quoted(uri) + " " + problem, Data: map[string]any{"uri": uri}}
}
