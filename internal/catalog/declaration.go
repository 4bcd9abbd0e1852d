package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"skill-mcp/internal/yamlcore"
)

const (
	// DefaultTimeoutMs holds where a script declares no usable time limit.
	DefaultTimeoutMs = 60000
	// MaxTimeoutMs is the longest a script may ask for.
	MaxTimeoutMs = 300000
	// declarationVersion is the one version of the mcp-host block.
	declarationVersion = 1
)

// Declaration is what the mcp-host block of a SKILL.md asks for. It grants
// nothing: what may run is decided elsewhere.
type Declaration struct {
	Scripts []Script
	// Env describes variables; no tool shows it.
	Env []EnvVar
	// Egress holds host patterns, for information.
	Egress []string
}

// Script is one program of a skill that may be asked for.
type Script struct {
	// Path is relative to the skill and satisfies CheckPath.
	Path string
	// Interpreter is as declared; it may be one that is not there.
	Interpreter string
	// TimeoutMs is at most MaxTimeoutMs. Values under half a millisecond give
	// 0, which a run takes for DefaultTimeoutMs.
	TimeoutMs int
	// Env holds names of variables, in the order declared, without reserved
	// ones.
	Env []string
}

// EnvVar is one entry of the block's own env list.
type EnvVar struct {
	Name        string
	Description string
	Secret      bool
	Required    bool
}

// knownKeys are the frontmatter's keys that mean something.
var knownKeys = []string{"name", "description", "when-to-use", "when_to_use", "license", "version", "allowed-tools", "metadata", "mcp-host", "ankole-runtime"}

// declare reads the declaration of a frontmatter. Everything that is not as it
// should be goes to complain; nothing of it stops the skill. reserved tells
// variable names that no script may have.
func declare(front *yamlcore.Node, reserved func(string) bool, complain func(string)) Declaration {
	d := declarer{complain: complain, reserved: reserved, seen: map[string]bool{}}
	d.unknownKeys(front, knownKeys, "")
	for _, e := range front.Entries {
		if key, ok := e.Key.Str(); ok && key == "mcp-host" {
			d.block(e.Value)
		}
	}
	return d.out
}

// declarer is the reading of one declaration.
type declarer struct {
	out      Declaration
	complain func(string)
	reserved func(string) bool
	seen     map[string]bool // what is in out, for lists of thousands
}

func (d *declarer) problem(format string, args ...any) { d.complain(fmt.Sprintf(format, args...)) }

// unknownKeys names the keys of a map that are not known.
func (d *declarer) unknownKeys(m *yamlcore.Node, known []string, prefix string) {
	for _, e := range m.Entries {
		if key, ok := e.Key.Str(); !ok || !slices.Contains(known, key) {
			d.problem("%sunknown key %s (line %d), ignored", prefix, keyName(e.Key), e.Key.Line)
		}
	}
}

// keyName quotes a key for a message.
func keyName(key *yamlcore.Node) string {
	if s, ok := key.Str(); ok {
		return quotePath(s)
	}
	if key.Raw != "" {
		return quotePath(key.Raw)
	}
	return key.Kind.String()
}

// block reads the mcp-host block.
func (d *declarer) block(b *yamlcore.Node) {
	if b.Kind != yamlcore.Map {
		d.problem("mcp-host: must be a map, is %s; the block is ignored", b.Kind)
		return
	}
	version := b.Get("version")
	if version == nil {
		d.problem("mcp-host.version: missing; the block is ignored; write version: %d", declarationVersion)
		return
	}
	n, whole := version.Int64()
	if !whole {
		d.problem("mcp-host.version: must be the number %d, is %s; the block is ignored", declarationVersion, shown(version))
		return
	}
	if n != declarationVersion {
		d.problem("mcp-host: version %d is not known here (only %d is); the block is ignored", n, declarationVersion)
		return
	}
	d.unknownKeys(b, []string{"version", "run", "env", "egress", "state"}, "mcp-host: ")
	d.list(b, "run", d.script)
	d.list(b, "env", d.envVar)
	d.list(b, "egress", d.host)
}

// list hands the elements of one of the block's lists on, with their prefix.
func (d *declarer) list(b *yamlcore.Node, key string, each func(prefix string, item *yamlcore.Node)) {
	list := b.Get(key)
	switch {
	case list == nil:
	case list.Kind != yamlcore.Seq:
		d.problem("mcp-host.%s: must be a list, is %s", key, list.Kind)
	default:
		for i, item := range list.Items {
			each(fmt.Sprintf("mcp-host.%s[%d]: ", key, i), item)
		}
	}
}

// shown writes a value for a message.
func shown(n *yamlcore.Node) string {
	if n.Raw == "" {
		return n.Kind.String()
	}
	return quotePath(n.Raw) + " (" + n.Kind.String() + ")"
}

// script reads one entry of run.
func (d *declarer) script(prefix string, item *yamlcore.Node) {
	if item.Kind != yamlcore.Map {
		d.problem("%smust be a map, is %s; dropped", prefix, item.Kind)
		return
	}
	d.unknownKeys(item, []string{"script", "interpreter", "env", "timeout"}, prefix)
	path, ok := item.Get("script").Str()
	if !ok {
		d.problem("%sscript must be text; dropped", prefix)
		return
	}
	if err := CheckPath(path); err != nil {
		d.problem("%sscript %v; dropped", prefix, err)
		return
	}
	if d.seen["script "+path] {
		d.problem("%sscript %s is declared already; dropped", prefix, quotePath(path))
		return
	}
	interpreter, ok := item.Get("interpreter").Str()
	if !ok {
		d.problem("%sinterpreter must be text; dropped", prefix)
		return
	}
	d.seen["script "+path] = true
	s := Script{Path: path, Interpreter: interpreter}
	s.TimeoutMs = d.timeout(prefix, item.Get("timeout"))
	s.Env = d.names(prefix, item.Get("env"))
	d.out.Scripts = append(d.out.Scripts, s)
}

// timeout reads a time limit in seconds and gives it in milliseconds.
func (d *declarer) timeout(prefix string, n *yamlcore.Node) int {
	if n == nil {
		return DefaultTimeoutMs
	}
	seconds, ok := n.Number()
	if !ok || !(seconds > 0) || math.IsInf(seconds, 0) && n.Kind == yamlcore.Float && strings.Contains(strings.ToLower(n.Text), "inf") {
		d.problem("%stimeout must be a number of seconds above 0, is %s; %d ms are used", prefix, shown(n), DefaultTimeoutMs)
		return DefaultTimeoutMs
	}
	ms := math.Floor(seconds*1000 + 0.5)
	if ms > MaxTimeoutMs {
		d.problem("%stimeout %s is more than the most, %d s; that is used", prefix, quotePath(n.Raw), MaxTimeoutMs/1000)
		return MaxTimeoutMs
	}
	return int(ms)
}

// names reads the variables of one script.
func (d *declarer) names(prefix string, list *yamlcore.Node) []string {
	names := []string{}
	if list == nil {
		return names
	}
	if list.Kind != yamlcore.Seq {
		d.problem("%senv must be a list of names, is %s", prefix, list.Kind)
		return names
	}
	taken := map[string]bool{}
	for _, item := range list.Items {
		name, ok := item.Str()
		switch {
		case !ok || !isIdentifier(name):
			d.problem("%senv: %s is no name of a variable", prefix, shown(item))
		case d.reserved(name):
			d.problem("%senv: %s is reserved and never handed to a script", prefix, name)
		case !taken[name]:
			taken[name] = true
			names = append(names, name)
		}
	}
	return names
}

// isIdentifier matches ^[A-Za-z_][A-Za-z0-9_]*$.
func isIdentifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// envVar reads one entry of the block's env.
func (d *declarer) envVar(prefix string, item *yamlcore.Node) {
	if item.Kind != yamlcore.Map {
		d.problem("%smust be a map with a name, is %s", prefix, item.Kind)
		return
	}
	name, ok := item.Get("name").Str()
	if !ok || !isIdentifier(name) {
		d.problem("%sname must be the name of a variable", prefix)
		return
	}
	v := EnvVar{Name: name}
	v.Description, _ = item.Get("description").Str()
	v.Secret, _ = item.Get("secret").Bool()
	v.Required, _ = item.Get("required").Bool()
	d.out.Env = append(d.out.Env, v)
}

// host reads one entry of egress.
func (d *declarer) host(prefix string, item *yamlcore.Node) {
	host, ok := item.Str()
	if !ok || host == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.*-") != "" {
		d.problem("%s%s is no host name (no scheme, port or path)", prefix, shown(item))
		return
	}
	if !d.seen["host "+host] {
		d.seen["host "+host] = true
		d.out.Egress = append(d.out.Egress, host)
	}
}
