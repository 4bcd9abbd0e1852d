// Package grant decides what the owner allowed: which declared scripts may run
// and which variables they may receive.
//
// It is pure: text and a lookup go in, values come out. It cannot read the
// process environment, a file or a skill. Both sides of the wall hold the same
// grants and decide by the same functions, so that a front which was taken
// over cannot widen them.
package grant

import (
	"strings"
)

// Source says where the grants came from.
type Source string

// The sources, as skill_list reports them.
const (
	FromVariable    Source = "MCP_SKILL_RUN"  // the owner's rows, valid or broken
	FromHosted      Source = "hosted-default" // hosted and no rows: nothing runs
	FromDeclaration Source = "declaration"    // standalone and no rows: what is declared runs
)

// Row is one row of MCP_SKILL_RUN.
type Row struct {
	Skill  string   `json:"skill"`  // base name of the skill's real directory
	Script string   `json:"script"` // exact declared path
	Env    []string `json:"env"`    // names handed over, at most those declared
}

// Grants are the owner's grants. The zero value grants nothing.
type Grants struct {
	From  Source   `json:"from"`
	Error string   `json:"error"` // why the rows could not be read; nothing is granted then
	Rows  []Row    `json:"rows"`
	Notes []string `json:"notes"` // what was ignored in readable rows
}

// Allows reports whether script of skill may run and which of the declared
// names it may receive, in declaration order. Reserved names never pass.
func (g Grants) Allows(skill, script string, declared []string) (env []string, ok bool) {
	env = []string{}
	if g.From == FromDeclaration {
		return keep(env, declared, nil), true
	}
	if g.From != FromVariable || g.Error != "" {
		return env, false
	}
	granted := map[string]bool{}
	for _, r := range g.Rows {
		if r.Skill == skill && r.Script == script {
			ok = true
			for _, n := range r.Env {
				granted[n] = true
			}
		}
	}
	if !ok {
		return env, false
	}
	return keep(env, declared, granted), true
}

// keep appends the declared names that are not reserved and, when granted is
// not nil, are granted.
func keep(env, declared []string, granted map[string]bool) []string {
	seen := map[string]bool{}
	for _, n := range declared {
		if seen[n] || Reserved(n) || (granted != nil && !granted[n]) {
			continue
		}
		seen[n] = true
		env = append(env, n)
	}
	return env
}

// Identifier reports whether name can be a declared variable name: a letter or
// underscore, then letters, digits and underscores, all ASCII. Not a regular
// expression: compiling one costs every start of the helper 0.1 ms.
func Identifier(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// reservedNames never reach a script, whatever is declared or granted: the
// server's own configuration, and names that change what an interpreter loads.
var reservedNames = map[string]bool{
	"MCP_SKILLS_PATH": true, "MCP_SKILL_RUN": true, "SKILLS_DIR": true, "MCP_HOST_METER_FILE": true,
	"MCP_BLOB_BASE_URL": true, "MCP_BLOB_SIGNING_KEY": true, "NODE_OPTIONS": true, "LD_PRELOAD": true,
	"LD_LIBRARY_PATH": true, "NODE_REPL_EXTERNAL_MODULE": true, "MCP_CONFIRM_SECRET": true,
	"MCP_HOST_CONFIRM_SECRET": true, "MCP_CONFIRM_MODE": true, "MCP_CONFIRM_ELICITATION": true,
	"MCP_CONFIRM_TTL_SECONDS": true, "MCP_SKILL_ALLOW_UNSCRUBBED": true, "MCP_SKILL_MAX": true,
	"MCP_SKILL_POLICY": true, "MCPORTER_CONFIG": true, "NODE_PATH": true, "NODE_EXTRA_CA_CERTS": true,
	"LD_AUDIT": true, "MCP_SKILL_DISABLE": true, "MCP_SKILL_AUDIT": true, "MCP_SKILL_WATCH": true,
	"MCP_PROTOCOL": true,
}

// reservedPrefixes are name families that a dynamic loader or a shell acts on.
var reservedPrefixes = []string{"LD_", "DYLD_", "BASH_FUNC_"}

// Reserved reports whether name may never be declared for or handed to a script.
func Reserved(name string) bool {
	if reservedNames[name] {
		return true
	}
	for _, p := range reservedPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// Ambient returns the names that every script receives when they are set in
// the server's environment (the contract, sections 0.11 and 5.3).
func Ambient() []string {
	return []string{
		"PATH", "HOME", "LANG", "TZ", "TMPDIR", "MCP_DATA_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY",
	}
}
