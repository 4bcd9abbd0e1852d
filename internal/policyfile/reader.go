package policyfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/yamlcore"
)

// reader walks one file. It goes on after a mistake, so that one reading shows
// them all; its values count only when there were none.
type reader struct {
	list  []Problem
	lines map[string]int // line of each row the file states, keyed as policy.Row
}

// bad notes a mistake at a node.
func (r *reader) bad(n *yamlcore.Node, format string, a ...any) {
	r.list = append(r.list, Problem{Line: int(n.Line), Column: int(n.Column), Text: fmt.Sprintf(format, a...)})
}

// at notes that a node states the row key.
func (r *reader) at(n *yamlcore.Node, key string) { r.lines[key] = int(n.Line) }

// fields is a map with the closed set of keys it may have.
type fields struct {
	r     *reader
	node  *yamlcore.Node
	where string
	by    map[string]*yamlcore.Node
}

// fields reads a map. Keys outside known are mistakes; keys are exact.
func (r *reader) fields(n *yamlcore.Node, where string, known ...string) fields {
	f := fields{r: r, node: n, where: where, by: map[string]*yamlcore.Node{}}
	if n.Kind != yamlcore.Map {
		r.bad(n, "%s is %s, not a map with the keys %s", where, n.Kind, strings.Join(known, ", "))
		return f
	}
	for _, e := range n.Entries {
		name, ok := e.Key.Str()
		if !ok || !slices.Contains(known, name) {
			r.bad(e.Key, "unknown key %s in %s (known: %s)", quote(e.Key), where, strings.Join(known, ", "))
			continue
		}
		f.by[name] = e.Value
	}
	return f
}

// entries gives the pairs of a map whose keys are names of the owner's.
func (r *reader) entries(n *yamlcore.Node, where string, valid func(string) bool) []yamlcore.Entry {
	if n == nil {
		return nil
	}
	if n.Kind != yamlcore.Map {
		r.bad(n, "%s is %s, not a map by name", where, n.Kind)
		return nil
	}
	out := []yamlcore.Entry{}
	for _, e := range n.Entries {
		if !valid(word(e.Key)) {
			r.bad(e.Key, "%s is not a name that %s can have", quote(e.Key), where)
			continue
		}
		out = append(out, e)
	}
	return out
}

// items gives the elements of a list; a missing one is empty.
func (r *reader) items(n *yamlcore.Node, where string) []*yamlcore.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yamlcore.Seq {
		r.bad(n, "%s is %s, not a list", where, n.Kind)
		return nil
	}
	return n.Items
}

// need says that a key of the map is missing.
func (f fields) need(key, reason string) {
	if f.node.Kind == yamlcore.Map {
		f.r.bad(f.node, "%s has no %s: %s", f.where, key, reason)
	}
}

// text reads a text value of at most limit bytes; "" when it is missing.
func (f fields) text(key string, limit int) string {
	n := f.by[key]
	if n == nil {
		return ""
	}
	s, ok := n.Str()
	if !ok || strings.TrimSpace(s) == "" || len(s) > limit || strings.ContainsRune(s, 0) {
		f.r.bad(n, "%s of %s is not a text of 1 to %d bytes", key, f.where, limit)
		return ""
	}
	return strings.TrimSpace(s)
}

// The longest texts of a file. A why is a sentence; a path is the kernel's
// PATH_MAX.
const (
	maxWhy  = 500
	maxPath = 4095
)

// why reads the reason of a grant, which has to be there.
func (f fields) why() string {
	if _, has := f.by["why"]; !has {
		f.need("why", "every grant says why it is needed")
	}
	return f.text("why", maxWhy)
}

// choice reads one of a closed set of words; "" when it is missing or wrong.
func (f fields) choice(key string, allowed ...string) string {
	n := f.by[key]
	if n == nil {
		return ""
	}
	if w := word(n); slices.Contains(allowed, w) {
		return w
	}
	f.r.bad(n, "%s of %s is %s, not one of %s", key, f.where, quote(n), strings.Join(allowed, ", "))
	return ""
}

// strings reads a list of texts that valid accepts, each once.
func (f fields) strings(key string, valid func(string) bool, what string) []string {
	out := []string{}
	for _, n := range f.r.items(f.by[key], key+" of "+f.where) {
		w, ok := n.Str()
		switch {
		case !ok || !valid(w):
			f.r.bad(n, "%s in %s of %s is not %s", quote(n), key, f.where, what)
		case slices.Contains(out, w):
			f.r.bad(n, "%s is given twice in %s of %s", quote(n), key, f.where)
		default:
			out = append(out, w)
		}
	}
	return out
}

// rows reads a list of grants {name, why}; prefix is the key of their rows.
func (f fields) rows(key, name, prefix string, valid func(string) string) []policy.Path {
	out := []policy.Path{}
	for _, n := range f.r.items(f.by[key], key+" of "+f.where) {
		row := f.r.fields(n, "a row of "+key+" of "+f.where, name, "why")
		value := row.text(name, maxPath)
		why := row.why()
		if row.by[name] == nil {
			row.need(name, "it names what is granted")
			continue
		}
		if value == "" {
			continue
		}
		if wrong := valid(value); wrong != "" {
			f.r.bad(row.by[name], "%q in %s of %s %s", value, key, f.where, wrong)
			continue
		}
		if slices.ContainsFunc(out, func(o policy.Path) bool { return o.Path == value }) {
			f.r.bad(row.by[name], "%q is given twice in %s of %s", value, key, f.where)
			continue
		}
		f.r.at(n, prefix+value)
		out = append(out, policy.Path{Path: value, Why: why})
	}
	return out
}

// word gives the text of a scalar as it was written: a version 20.10 and a
// pin of digits alone keep every digit.
func word(n *yamlcore.Node) string {
	switch n.Kind {
	case yamlcore.Map, yamlcore.Seq, yamlcore.Null:
		return ""
	}
	return n.Text
}

// quote shows a node in a message.
func quote(n *yamlcore.Node) string {
	switch n.Kind {
	case yamlcore.Map, yamlcore.Seq, yamlcore.Null:
		return n.Kind.String()
	}
	s := n.Text
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strconv.Quote(s)
}
