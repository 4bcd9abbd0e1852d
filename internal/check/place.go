package check

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"skill-mcp/internal/yamlcore"
)

// place is where in a file something is, from 1; the zero value is the whole.
type place struct{ line, column int }

// orStart is the place, or the first line for what has none in its file.
func orStart(p place) place {
	if p.line == 0 {
		return place{1, 1}
	}
	return p
}

func placeOf(n *yamlcore.Node) place {
	if n == nil {
		return place{}
	}
	return place{int(n.Line), int(n.Column)}
}

var (
	statedPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bline (\d+), column (\d+): `) })
	statedLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(line (\d+)\), ignored$`) })
	nodePath    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z-]+(?:\.[a-zA-Z_-]+|\[\d+\])*: `) })
	pathPart    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-zA-Z_-]+|\[\d+\]`) })
	firstWord   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_-]+`) })
)

// stated is the place that a message of the YAML reader names.
func stated(detail string) (place, bool) {
	m := statedPlace().FindStringSubmatch(detail)
	if m == nil {
		return place{}, false
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return place{line, column}, true
}

// locate finds what a message of the contract is about in a frontmatter. The
// messages of package catalog begin with the path of the value; what they do
// not lead to has the place of the deepest value they do lead to.
func locate(front *yamlcore.Node, detail string) place {
	if m := statedLine().FindStringSubmatch(detail); m != nil {
		line, _ := strconv.Atoi(m[1])
		if key := keyOn(front, line, detail); key != nil {
			return placeOf(key)
		}
		return place{line, 1}
	}
	if path := nodePath().FindString(detail); path != "" {
		n, _ := follow(front, path[:len(path)-2])
		return placeOf(within(n, detail[len(path):]))
	}
	if strings.HasPrefix(detail, "the frontmatter names the skill ") {
		return placeOf(front.Get("name"))
	}
	if script, ok := strings.CutPrefix(detail, "the declared script "); ok {
		script, _, _ = strings.Cut(script, " is not among")
		return scriptPlace(front, script, "script")
	}
	return place{}
}

// within goes on from n by the words of a message: a key of n first, then, in a
// list, the element whose text the message has.
func within(n *yamlcore.Node, rest string) *yamlcore.Node {
	if child := n.Get(firstWord().FindString(rest)); child != nil {
		n = child
	}
	if n != nil && n.Kind == yamlcore.Seq {
		for _, item := range n.Items {
			if item.Raw != "" && strings.Contains(rest, " "+item.Raw+" ") || item.Text != "" && strings.Contains(rest, quoted(item.Text)) {
				return item
			}
		}
	}
	return n
}

// follow walks a path such as dependencies.tools[2].url as far as it leads;
// whole reports whether that was to its end.
func follow(n *yamlcore.Node, path string) (last *yamlcore.Node, whole bool) {
	for _, part := range pathPart().FindAllString(path, -1) {
		var next *yamlcore.Node
		if inner, ok := strings.CutPrefix(part, "["); ok {
			i, err := strconv.Atoi(strings.TrimSuffix(inner, "]"))
			if err == nil && n.Kind == yamlcore.Seq && i < len(n.Items) {
				next = n.Items[i]
			}
		} else {
			next = n.Get(part)
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// keyOn finds the key on a line that a message names.
func keyOn(n *yamlcore.Node, line int, detail string) *yamlcore.Node {
	for _, e := range n.Entries {
		if int(e.Key.Line) == line && strings.Contains(detail, "unknown key "+quoted(e.Key.Text)+" (") {
			return e.Key
		}
		if key := keyOn(e.Value, line, detail); key != nil {
			return key
		}
	}
	for _, item := range n.Items {
		if key := keyOn(item, line, detail); key != nil {
			return key
		}
	}
	return nil
}

// scriptPlace is where a declared script, named by its quoted path, has its
// value under key.
func scriptPlace(front *yamlcore.Node, path, key string) place {
	run := front.Get("mcp-host").Get("run")
	if run == nil {
		return place{}
	}
	for _, item := range run.Items {
		if text, ok := item.Get("script").Str(); ok && quoted(text) == path {
			return placeOf(item.Get(key))
		}
	}
	return placeOf(run)
}

// locatePortable finds the key that a message about portability begins with.
func locatePortable(front *yamlcore.Node, why string) place {
	if n := front.Get(firstWord().FindString(why)); n != nil {
		return placeOf(n)
	}
	return placeOf(front)
}

// quoted writes a value as the messages of package catalog do.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
