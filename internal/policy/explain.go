package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Row is one statement of a policy: what it says, in a form that can be
// compared, why, and where it came from.
type Row struct {
	Key    string `json:"key"`    // e.g. "layers.seccomp", "read./etc/ssl", "skills.demo.limits.pids"
	Value  string `json:"value"`  // e.g. "require", "granted", "134217728"
	Why    string `json:"why"`    // the owner's words, "" where none are asked for
	Origin string `json:"origin"` // e.g. "hosted", "/etc/skill-mcp.yaml:12", "default"; set by [Explain]
}

// Source is one place rows come from: a shipped policy or an owner's file.
type Source struct {
	Name   string         // as Origin shows it
	Policy Policy         // what it says
	Lines  map[string]int // line of each key it states; nil: it states all of its rows
}

// Explain returns the rows of p, each with the first source that states it with
// this very value. sources stand strongest first: the owner's file before what
// it builds on. A row that no source states is "default", and one that several
// sources made together is "narrowed".
func Explain(p Policy, sources []Source) []Row {
	rows := p.Rows()
	index := make([]map[string]string, len(sources))
	for i, s := range sources {
		index[i] = map[string]string{}
		for _, r := range s.Policy.Rows() {
			index[i][r.Key] = r.Value
		}
	}
	for i := range rows {
		rows[i].Origin = origin(rows[i], sources, index)
	}
	return rows
}

// origin finds where one row was stated.
func origin(r Row, sources []Source, index []map[string]string) string {
	stated := false
	for i, s := range sources {
		value, has := index[i][r.Key]
		line, named := s.Lines[r.Key]
		if s.Lines != nil && !named {
			continue
		}
		stated = stated || has
		if !has || value != r.Value {
			continue
		}
		if s.Lines != nil {
			return s.Name + ":" + strconv.Itoa(line)
		}
		return s.Name
	}
	if stated {
		return "narrowed"
	}
	return "default"
}

// Rows returns every statement of p in a fixed order; keys are unique in a
// policy that names nothing twice. Limits appear as they hold, defaults
// included.
func (p Policy) Rows() []Row {
	var r rows
	r.add("network", string(p.NetworkFor("")), "")
	for _, l := range p.Layers {
		r.add("layers."+string(l.Layer), string(l.Want), l.Why)
	}
	for _, i := range p.Interpreters {
		r.interpreter(i)
	}
	r.limits("limits.", p.LimitsFor(""))
	r.paths("read.", p.Read)
	r.paths("write.", p.Write)
	for _, port := range p.Egress.Ports {
		r.add("egress.ports."+strconv.Itoa(port), "granted", "")
	}
	r.paths("egress.internal.", p.Egress.Internal)
	if n := p.Egress.Connections; n != 0 {
		r.add("egress.connections", strconv.FormatInt(n, 10), "")
	}
	if n := p.Egress.BytesPerSecond; n != 0 {
		r.add("egress.bytesPerSecond", strconv.FormatInt(n, 10), "")
	}
	if p.Egress.Resolver != "" {
		r.add("egress.testResolver", p.Egress.Resolver, "")
	}
	for _, s := range p.Skills {
		r.skill(s)
	}
	for _, d := range p.DisabledSkills {
		r.add("disabledSkills."+d, "disabled", "")
	}
	return r
}

// SkillRows returns what holds for one skill: its network, limits, reads,
// hosts and secrets with the policy's own rows under them, keyed as in
// [Policy.Rows] so that origins can be found.
func (p Policy) SkillRows(explained []Row, skill string) []Row {
	own := "skills." + skill + "."
	set := map[string]bool{}
	for _, r := range explained {
		if rest, ok := strings.CutPrefix(r.Key, own); ok {
			set[rest] = true
		}
	}
	out := []Row{}
	for _, r := range explained {
		switch {
		case strings.HasPrefix(r.Key, own), r.Key == "disabledSkills."+skill:
			out = append(out, r)
		case strings.HasPrefix(r.Key, "skills."), strings.HasPrefix(r.Key, "disabledSkills."), set[r.Key]:
		default:
			out = append(out, r)
		}
	}
	return out
}

// rows is a list under construction.
type rows []Row

// add appends one row.
func (r *rows) add(key, value, why string) {
	*r = append(*r, Row{Key: key, Value: value, Why: why})
}

// paths appends one row per granted path or host.
func (r *rows) paths(prefix string, list []Path) {
	for _, p := range list {
		r.add(prefix+p.Path, "granted", p.Why)
	}
}

// limits appends the fields of l that are set.
func (r *rows) limits(prefix string, l Limits) {
	for i, f := range l.fields() {
		if *f != 0 {
			r.add(prefix+LimitNames()[i], strconv.FormatInt(*f, 10), "")
		}
	}
}

// interpreter appends the rows of one entry of the closed set.
func (r *rows) interpreter(i Interpreter) {
	key := "interpreters." + i.Name
	where := i.Path
	if where == "" {
		where = "looked up on the server's PATH"
	}
	r.add(key, where, i.Why)
	if len(i.Args) > 0 {
		r.add(key+".args", fmt.Sprintf("%q", i.Args), "")
	}
	if len(i.Env) > 0 {
		r.add(key+".env", fmt.Sprintf("%q", i.Env), "")
	}
	r.paths(key+".read.", i.Read)
	for _, f := range []struct{ key, value string }{
		{".minVersion", i.MinVersion}, {".maxVersion", i.MaxVersion}, {".sha256", i.SHA256},
	} {
		if f.value != "" {
			r.add(key+f.key, f.value, "")
		}
	}
}

// skill appends the rows of one skill.
func (r *rows) skill(s Skill) {
	key := "skills." + s.Name + "."
	if s.Network != "" {
		r.add(key+"network", string(s.Network), s.Why)
	}
	r.paths(key+"read.", s.Read)
	r.paths(key+"hosts.", s.Hosts)
	for _, n := range s.Secrets {
		r.add(key+"secrets."+n, "handed over when declared", s.Why)
	}
	r.limits(key+"limits.", s.Limits)
}

// LimitNames returns the names of the fields of [Limits] as files and JSON
// write them, in declaration order.
func LimitNames() []string {
	return []string{
		"memoryBytes", "heapPercent", "pids", "nproc", "openFiles", "fileBytes", "stackBytes",
		"cpuPercent", "tmpBytes", "tmpInodes", "shmBytes", "wallMs", "outputFloodBytes",
	}
}

// Get returns the field called name, as [LimitNames] spells it.
func (l Limits) Get(name string) (value int64, known bool) {
	for i, n := range LimitNames() {
		if n == name {
			return *l.fields()[i], true
		}
	}
	return 0, false
}

// With returns l with the field called name set.
func (l Limits) With(name string, value int64) Limits {
	for i, n := range LimitNames() {
		if n == name {
			*l.fields()[i] = value
		}
	}
	return l
}
