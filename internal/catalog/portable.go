package catalog

import (
	"fmt"
	"strings"

	"skill-mcp/internal/yamlcore"
)

// Limits of the Agent Skills specification (agentskills.io, specification),
// in characters; node counts UTF-16 units, and so does this package.
const (
	maxNameLength          = 64
	maxDescriptionLength   = 1024
	maxCompatibilityLength = 500
)

// notPortable gives what keeps a frontmatter from meeting the Agent Skills
// specification. Keys beyond the specification do not: clients ignore them.
func notPortable(dirName string, front *yamlcore.Node) []string {
	var why []string
	note := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	checkName(dirName, front.Get("name"), note)
	description, ok := front.Get("description").Str()
	switch n := units(description); {
	case front.Get("description") == nil:
		note("description is missing")
	case !ok:
		note("description is %s, not text", front.Get("description").Kind)
	case strings.TrimSpace(description) == "":
		note("description is empty")
	case n > maxDescriptionLength:
		note("description has %d characters, more than %d", n, maxDescriptionLength)
	}
	if c := front.Get("compatibility"); c != nil {
		text, ok := c.Str()
		switch {
		case !ok:
			note("compatibility is %s, not text", c.Kind)
		case units(text) > maxCompatibilityLength:
			note("compatibility has %d characters, more than %d", units(text), maxCompatibilityLength)
		}
	}
	for _, key := range []string{"license", "allowed-tools"} {
		if n := front.Get(key); n != nil && n.Kind != yamlcore.String {
			note("%s is %s, not text", key, n.Kind)
		}
	}
	checkMetadata(front.Get("metadata"), note)
	if _, err := front.JSON(); err != nil {
		note("the frontmatter cannot be said in JSON: %v", err)
	}
	return why
}

// checkName holds the rule for names: lower-case letters, digits and single
// hyphens between them, and the same as the directory.
func checkName(dirName string, n *yamlcore.Node, note func(string, ...any)) {
	name, ok := n.Str()
	switch {
	case n == nil:
		note("name is missing")
		return
	case !ok:
		note("name is %s, not text; put it in quotes", n.Kind)
		return
	}
	if name != dirName {
		note("name %s is not the directory's, %s", quotePath(name), quotePath(dirName))
	}
	if len(name) > maxNameLength {
		note("name has more than %d characters", maxNameLength)
	}
	if !isPortableName(name) {
		note("name %s is not made of lower-case letters, digits and single hyphens between them", quotePath(name))
	}
}

// isPortableName matches ^[a-z0-9]+(-[a-z0-9]+)*$.
func isPortableName(s string) bool {
	for part := range strings.SplitSeq(s, "-") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// checkMetadata notes metadata that is no map.
func checkMetadata(n *yamlcore.Node, note func(string, ...any)) {
	if n != nil && n.Kind != yamlcore.Map {
		note("metadata is %s, not a map", n.Kind)
	}
}

func joinReasons(why []string) string { return strings.Join(why, "; ") }
