// Package config is the server's configuration as values: what the owner's
// variables and flags say, read once at launch and handed to the front without
// the environment it came from.
//
// It reads no file and holds no credential but the confirmation key. The
// command line and the launch phase build it; the front receives it.
package config

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
)

// RootsSource says which variable named the roots.
type RootsSource string

// The sources, strongest first.
const (
	RootsSkillsPath RootsSource = "MCP_SKILLS_PATH"
	RootsSkillsDir  RootsSource = "SKILLS_DIR"
	RootsDefault    RootsSource = "default"
)

// Front is everything the unprivileged front is told.
type Front struct {
	Version   string        `json:"version"`
	Roots     []string      `json:"roots"` // absolute, order and duplicates kept
	RootsFrom RootsSource   `json:"rootsFrom"`
	MaxSkills int           `json:"maxSkills"` // 1 to 4096
	Hosted    bool          `json:"hosted"`
	Grants    grant.Grants  `json:"grants"`
	Policy    policy.Policy `json:"policy"`
	// PolicyFile is the owner's file, re-read for disabledSkills; "" = shipped.
	PolicyFile      string   `json:"policyFile"`
	PolicyOwners    []int    `json:"policyOwners"` // uids whose policy file is believed beside root's
	Disabled        []string `json:"disabled"`     // from MCP_SKILL_DISABLE
	DataDir         string   `json:"dataDir"`      // MCP_DATA_DIR when absolute
	Protocol        string   `json:"protocol"`     // auto, legacy or 2026-07-28
	Watch           bool     `json:"watch"`
	AllowUnscrubbed bool     `json:"allowUnscrubbed"`
	Confirm         Confirm  `json:"confirm"`
	HTTP            HTTP     `json:"http"`
	AuditFD         int      `json:"auditFd"`     // 0 = no audit, or nobody opened it yet
	AuditAskFD      int      `json:"auditAskFd"`  // the socket to ask for the file again, 0 = it can be opened here
	AuditPath       string   `json:"auditPath"`   // for messages and for rotation
	ProxySet        bool     `json:"proxySet"`    // the first defined proxy variable is not empty
	User            User     `json:"user"`        // whom launch made the front
	HelperError     string   `json:"helperError"` // why no script can run at all, "" = the helper was started
	Warnings        []string `json:"warnings"`    // lines for stderr
}

// User is the identity of the front and why it is no stronger one. UID -1 means
// that the server was not started as root and stays who it is.
type User struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Reason string `json:"reason"`
}

// Confirm is the raw configuration of the confirmation gate; package confirm
// gives it meaning. Blank text means unset.
type Confirm struct {
	Mode        string `json:"mode"`        // MCP_CONFIRM_MODE
	Elicitation string `json:"elicitation"` // MCP_CONFIRM_ELICITATION
	TTL         string `json:"ttl"`         // MCP_CONFIRM_TTL_SECONDS
	Wait        string `json:"wait"`        // MCP_CONFIRM_WAIT_SECONDS
	Key         []byte `json:"key"`         // 32 bytes
	Stable      bool   `json:"stable"`      // the key survives a restart
}

// HTTP is the configuration of the streamable HTTP transport.
type HTTP struct {
	Listen    string   `json:"listen"`    // host:port, "" = stdio
	ListenFD  int      `json:"listenFd"`  // the socket that launch opened
	Token     string   `json:"token"`     // bearer token, "" = none (loopback only)
	Allowed   []string `json:"allowed"`   // further Origin hosts
	IdleSecs  int      `json:"idleSecs"`  // a session without traffic ends after this
	Addresses []string `json:"addresses"` // names accepted in Host
}

// SpentStore is the folder that keeps spent approvals across restarts, or ""
// where they are kept in memory: it needs a data folder and a stable key.
func (f Front) SpentStore() string {
	if f.DataDir == "" || !f.Confirm.Stable {
		return ""
	}
	return filepath.Join(f.DataDir, ".mcp-confirm", "spent")
}

// Input is what configuration is read from.
type Input struct {
	Look       grant.Lookup
	Dir        string // the working directory, for relative roots
	Executable string // this program's real path, for the default root
	Version    string
}

// Read gives the configuration of an environment, without the policy, which
// needs a file. It never fails: what cannot be used becomes a warning.
func Read(in Input) Front {
	f := Front{Version: in.Version, Grants: grant.From(in.Look), Hosted: grant.Hosted(in.Look)}
	f.Roots, f.RootsFrom = roots(in, &f.Warnings)
	f.MaxSkills = maxSkills(in.Look, f.Hosted, &f.Warnings)
	f.Protocol = protocol(in.Look, &f.Warnings)
	f.Watch = watch(in.Look, &f.Warnings)
	f.AllowUnscrubbed = value(in.Look, "MCP_SKILL_ALLOW_UNSCRUBBED") == "1"
	f.Disabled = list(value(in.Look, "MCP_SKILL_DISABLE"))
	if a := value(in.Look, "MCP_SKILL_AUDIT"); a != "" {
		f.AuditPath = absolute([]string{a}, in.Dir)[0]
	}
	if d := value(in.Look, "MCP_DATA_DIR"); filepath.IsAbs(d) {
		f.DataDir = filepath.Clean(d)
	} else if d != "" {
		f.Warnings = append(f.Warnings, fmt.Sprintf("MCP_DATA_DIR %q is ignored: it is not an absolute path", d))
	}
	f.ProxySet = proxySet(in.Look)
	f.Confirm = confirm(in.Look, f.DataDir)
	return f
}

// value is the hardened read with "" for unset.
func value(look grant.Lookup, name string) string {
	v, _ := grant.Read(look, name)
	return v
}

// roots applies the precedence MCP_SKILLS_PATH, SKILLS_DIR, own skills folder.
// A variable of separators only is set, and thus a hosted marker, but names no
// folder: the next source is used, and a warning says so.
func roots(in Input, warn *[]string) ([]string, RootsSource) {
	for _, s := range []RootsSource{RootsSkillsPath, RootsSkillsDir} {
		v, ok := grant.Read(in.Look, string(s))
		if !ok {
			continue
		}
		if out := absolute(strings.Split(v, string(os.PathListSeparator)), in.Dir); len(out) > 0 {
			return out, s
		}
		*warn = append(*warn, fmt.Sprintf("%s %q names no folder; the next source of folders is used", s, v))
	}
	return []string{defaultRoot(in.Executable)}, RootsDefault
}

// absolute trims, drops empty parts and makes the rest absolute against dir.
func absolute(parts []string, dir string) []string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}

// defaultRoot is the skills folder shipped with the program: beside it, beside
// its bin folder, or where packages install it.
func defaultRoot(executable string) string {
	dir := filepath.Dir(executable)
	for _, c := range []string{
		filepath.Join(dir, "skills"),
		filepath.Join(filepath.Dir(dir), "skills"),
		filepath.Join(filepath.Dir(dir), "share", "skill-mcp", "skills"),
	} {
		if st, err := os.Stat(c); err == nil && st.IsDir() {
			return c
		}
	}
	return filepath.Join(dir, "skills")
}

// The bounds of MCP_SKILL_MAX. The default is what clients of the original
// server expect; the ceiling keeps one scan within a second.
const (
	defaultMaxSkills = 32
	ceilingMaxSkills = 4096
)

func maxSkills(look grant.Lookup, hosted bool, warn *[]string) int {
	v := value(look, "MCP_SKILL_MAX")
	if v == "" {
		return defaultMaxSkills
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > ceilingMaxSkills {
		*warn = append(*warn, fmt.Sprintf("MCP_SKILL_MAX %q is ignored: not a number from 1 to %d; %d is used", v, ceilingMaxSkills, defaultMaxSkills))
		return defaultMaxSkills
	}
	if hosted {
		*warn = append(*warn, "MCP_SKILL_MAX is ignored: a hosted server serves at most 32 skills")
		return defaultMaxSkills
	}
	return n
}

// protocol reads MCP_PROTOCOL.
func protocol(look grant.Lookup, warn *[]string) string {
	switch v := value(look, "MCP_PROTOCOL"); v {
	case "", "auto":
		return "auto"
	case "legacy", "2026-07-28":
		return v
	default:
		*warn = append(*warn, fmt.Sprintf("MCP_PROTOCOL %q is ignored: not auto, legacy or 2026-07-28; auto is used", v))
		return "auto"
	}
}

// watch reads MCP_SKILL_WATCH: 1 is on, and what is not off either is named.
func watch(look grant.Lookup, warn *[]string) bool {
	v := value(look, "MCP_SKILL_WATCH")
	if v != "" && v != "0" && v != "1" {
		*warn = append(*warn, fmt.Sprintf("MCP_SKILL_WATCH %q is ignored: only 1 turns it on", v))
	}
	return v == "1"
}

// list splits a comma-separated variable.
func list(v string) []string {
	out := []string{}
	for _, p := range strings.Split(v, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// proxySet looks at the first defined proxy variable only: a defined but empty
// one hides later ones (the contract, 5.5).
func proxySet(look grant.Lookup) bool {
	for _, n := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if v, ok := look(n); ok {
			return v != ""
		}
	}
	return false
}

// confirm reads the gate's variables and derives its key: the owner's secret,
// else the host's where a data directory makes spent tokens durable, else
// random for this process.
func confirm(look grant.Lookup, dataDir string) Confirm {
	c := Confirm{
		Mode: value(look, "MCP_CONFIRM_MODE"), Elicitation: value(look, "MCP_CONFIRM_ELICITATION"),
		TTL: value(look, "MCP_CONFIRM_TTL_SECONDS"), Wait: value(look, "MCP_CONFIRM_WAIT_SECONDS"), Stable: true,
	}
	secret := value(look, "MCP_CONFIRM_SECRET")
	if secret == "" && dataDir != "" {
		secret = value(look, "MCP_HOST_CONFIRM_SECRET")
	}
	if secret == "" {
		c.Key, c.Stable = make([]byte, sha256.Size), false
		rand.Read(c.Key) // never fails: crypto/rand ends the process instead
		return c
	}
	sum := sha256.Sum256([]byte(secret))
	c.Key = sum[:]
	return c
}
