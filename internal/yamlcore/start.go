package yamlcore

import "strings"

// forbiddenStart refuses what no value may start with.
func (p *parser) forbiddenStart() error {
	switch c := p.peek(0); c {
	case '*':
		return p.errorHere("a value that starts with *, which YAML reads as an alias", hintQuote)
	case '&':
		return p.errorHere("a value that starts with &, which YAML reads as an anchor", hintQuote)
	case '@', '`':
		return p.errorHere("a value that starts with "+string(c)+", which YAML reserves", hintQuote)
	case '%':
		return p.errorHere("a value that starts with %, which YAML reads as a directive", hintQuote)
	case ',', ']', '}':
		return p.errorHere("a value that starts with "+string(c), hintQuote)
	case '!':
		return p.errorHere("a second tag", hintQuote)
	}
	return nil
}

const corePrefix = "tag:yaml.org,2002:"

// coreTags are the tags of the core schema, by their names behind corePrefix.
var coreTags = [...]string{"str", "int", "float", "bool", "null", "seq", "map"}

// properties reads the tag at i, if there is one, and the blanks behind it. It
// gives the name of a core tag, "!" for the one that means "no tag", or "".
func (p *parser) properties(flow bool) (string, error) {
	if p.peek(0) != '!' {
		return "", nil
	}
	begin := p.here()
	end := p.i
	for !p.blankAt(end) && !(flow && isFlowIndicator(p.s[end]) && p.peek(1) != '<') {
		end++
	}
	raw := p.s[p.i:end]
	p.i = end
	p.blanks()
	if raw == "!" {
		return raw, nil
	}
	name := ""
	if rest, ok := strings.CutPrefix(raw, "!!"); ok {
		name = rest
	} else if rest, ok := strings.CutPrefix(raw, "!<"+corePrefix); ok && strings.HasSuffix(rest, ">") {
		name = rest[:len(rest)-1]
	}
	for _, t := range coreTags {
		if name == t {
			return name, nil
		}
	}
	return "", p.errorAt(begin, "the tag "+shorten(raw)+", which is not of the core schema", hintQuote)
}

// applyTag gives the node the kind its tag asks for, or refuses it.
func (p *parser) applyTag(n *Node, tag string, begin mark) (*Node, error) {
	scalar := n.Kind != Seq && n.Kind != Map
	ok := false
	switch tag {
	case "":
		return n, nil
	case "!":
		ok = true
		if scalar {
			n.Kind = String
		}
	case "str":
		ok = scalar
		n.Kind = choose(ok, String, n.Kind)
	case "seq":
		ok = n.Kind == Seq
	case "map":
		ok = n.Kind == Map
	default:
		want := map[string]Kind{"int": Int, "float": Float, "bool": Bool, "null": Null}[tag]
		ok = scalar && resolve(n.Text) == want
		n.Kind = choose(ok, want, n.Kind)
	}
	if !ok {
		return nil, p.errorAt(begin, "a tag !!"+tag+" on what is none", "")
	}
	return n, nil
}

func choose(yes bool, a, b Kind) Kind {
	if yes {
		return a
	}
	return b
}
