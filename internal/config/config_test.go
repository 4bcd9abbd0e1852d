package config

import (
	"slices"
	"strings"
	"testing"
)

// lookup gives the variables of a test.
func lookup(m map[string]string) func(string) (string, bool) {
	return func(n string) (string, bool) { v, ok := m[n]; return v, ok }
}

func TestRoots(t *testing.T) {
	def := []string{"/opt/lib/skill-mcp-none/skills"}
	for _, c := range []struct {
		name   string
		vars   map[string]string
		roots  []string
		from   RootsSource
		hosted bool
		warns  int
	}{
		{"nothing set", nil, def, RootsDefault, false, 0},
		{"the strong one wins", map[string]string{"MCP_SKILLS_PATH": "/a: b :/a", "SKILLS_DIR": "/c"}, []string{"/a", "/w/b", "/a"}, RootsSkillsPath, true, 0},
		{"blank is unset", map[string]string{"MCP_SKILLS_PATH": " ", "SKILLS_DIR": "/c"}, []string{"/c"}, RootsSkillsDir, false, 0},
		{"a placeholder is unset", map[string]string{"MCP_SKILLS_PATH": "${X}", "SKILLS_DIR": "null"}, def, RootsDefault, false, 0},
		// Set, so a marker of a hosted registration: what grants less is the safe reading.
		{"separators only are hosted and name nothing", map[string]string{"MCP_SKILLS_PATH": " : : ", "SKILLS_DIR": "/c"}, []string{"/c"}, RootsSkillsDir, true, 1},
		{"both of separators only", map[string]string{"MCP_SKILLS_PATH": ":", "SKILLS_DIR": "::"}, def, RootsDefault, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Read(Input{Look: lookup(c.vars), Dir: "/w", Executable: "/opt/lib/skill-mcp-none/skill-mcp"})
			if !slices.Equal(f.Roots, c.roots) || f.RootsFrom != c.from || f.Hosted != c.hosted || len(f.Warnings) != c.warns {
				t.Errorf("%v from %s, hosted %v, %q", f.Roots, f.RootsFrom, f.Hosted, f.Warnings)
			}
		})
	}
}

// TestWhatCannotBeUsedIsNamed: no value is dropped in silence.
func TestWhatCannotBeUsedIsNamed(t *testing.T) {
	for name, values := range map[string][]string{
		"MCP_SKILL_MAX":   {"0", "4097", "x", "99999999999999999999"},
		"MCP_PROTOCOL":    {"2025-06-18", "Auto"},
		"MCP_DATA_DIR":    {"data", "./x"},
		"MCP_SKILL_WATCH": {"true", "yes"},
		"SKILLS_DIR":      {":", " : "},
	} {
		for _, v := range values {
			f := Read(Input{Look: lookup(map[string]string{name: v}), Dir: "/w", Executable: "/opt/lib/skill-mcp-none/skill-mcp"})
			if len(f.Warnings) != 1 || !strings.HasPrefix(f.Warnings[0], name+" ") {
				t.Errorf("%s=%q: %q", name, v, f.Warnings)
			}
		}
	}
}

// TestMaxSkills: the variable is the owner's of a standalone server.
func TestMaxSkills(t *testing.T) {
	for _, c := range []struct {
		vars map[string]string
		want int
	}{
		{nil, 32}, {map[string]string{"MCP_SKILL_MAX": "1"}, 1}, {map[string]string{"MCP_SKILL_MAX": "4096"}, 4096},
		{map[string]string{"MCP_SKILL_MAX": "4097"}, 32}, {map[string]string{"MCP_SKILL_MAX": "100", "MCP_DATA_DIR": "/d"}, 32},
	} {
		if f := Read(Input{Look: lookup(c.vars), Dir: "/w", Executable: "/opt/lib/skill-mcp-none/skill-mcp"}); f.MaxSkills != c.want {
			t.Errorf("%v: %d, want %d", c.vars, f.MaxSkills, c.want)
		}
	}
}
