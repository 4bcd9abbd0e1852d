package check

import (
	"errors"
	"path/filepath"
	"strings"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/deps"
	"skill-mcp/internal/yamlcore"
)

// metadataFiles are the places of a skill's dependencies, the first that is
// there is read.
var metadataFiles = [...]string{"agents/openai.yaml", "openai.yaml"}

// dependencies reports on the MCP servers that a skill names, and gives them.
func (c *checker) dependencies(s *catalog.Skill) []deps.Server {
	if n := s.Frontmatter.Get("ankole-runtime"); n != nil {
		text, _ := n.Str()
		if _, err := deps.RuntimeOf(text, true); err != nil {
			c.add(skillMD(s.Dir), placeOf(n), Error, deps.CodeRuntime, "ankole-runtime has to be any, main or background_job")
		}
	}
	m := deps.Read(s.Dir)
	for _, n := range m.Notes {
		c.add(filepath.Join(s.Dir, "agents", "openai.yml"), place{}, Warning, CodeUnreadYml, n)
	}
	if len(m.Problems) == 0 {
		return m.Servers
	}
	name, doc := metadata(s)
	for _, p := range m.Problems {
		file, at := name, place{}
		if p.Path == metadataFiles[0] || p.Path == metadataFiles[1] {
			file = p.Path
		}
		if l, ok := stated(p.Detail); ok {
			at = l
		} else if doc != nil && file == name {
			at = dependencyPlace(doc, p.Path)
		}
		message := p.Detail
		if p.Path != "" && p.Path != file {
			message = p.Path + ": " + p.Detail
		}
		c.add(filepath.Join(s.Dir, filepath.FromSlash(file)), at, Error, p.Code, message)
	}
	return nil
}

// metadata reads the dependency file once more, for positions. doc is nil when
// it is no YAML.
func metadata(s *catalog.Skill) (name string, doc *yamlcore.Node) {
	for _, name := range metadataFiles {
		got := s.Read(name, catalog.MaxRead)
		if got.Err != nil {
			continue
		}
		doc, err := yamlcore.Parse([]byte(strings.TrimPrefix(got.Content(), "\ufeff")), yamlcore.Options{})
		if err != nil {
			doc = nil
		}
		return name, doc
	}
	return metadataFiles[0], nil
}

// dependencyPlace is the place of a path: its key, or the deepest value that
// is there.
func dependencyPlace(doc *yamlcore.Node, path string) place {
	at, whole := follow(doc, path)
	if parent, last := cutLast(path); whole {
		from, _ := follow(doc, parent)
		for _, e := range from.Entries {
			if e.Key.Text == last && e.Value == at {
				return placeOf(e.Key)
			}
		}
	}
	return placeOf(at)
}

// cutLast splits the last key off a path.
func cutLast(path string) (parent, last string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// conflicts reports servers that cannot be united in one run.
func (c *checker) conflicts(dir string, declared []deps.Declared) {
	_, err := deps.Union(declared)
	var all deps.Problems
	if err != nil && !errors.As(err, &all) {
		all = deps.Problems{{Code: deps.CodeConflict, Detail: err.Error()}}
	}
	for _, p := range all {
		c.add(dir, place{}, Warning, p.Code, p.Detail)
	}
}
