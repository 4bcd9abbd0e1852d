package specialist

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/strictjson"
)

// document walks one of the two JSON documents and reports every fault.
type document struct {
	path string // in the package
	f    *findings
}

func (d *document) errorf(code, field, format string, args ...any) {
	d.f.addf(LevelError, code, d.path, field, format, args...)
}

// object reads the text as one object, or says why it is none.
func (d *document) object(text []byte, notObject string) *strictjson.Value {
	v, err := strictjson.Parse(text)
	var syntax *strictjson.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.errorf("package.json-invalid", fmt.Sprintf("line %d, column %d", syntax.Line, syntax.Column), "%s", printableDetail(syntax.Detail))
		return nil
	case err != nil:
		d.errorf("package.json-invalid", "", "it is not JSON")
		return nil
	case v.Kind != strictjson.Object:
		d.errorf(notObject, "", "it is %s, not an object", v.Kind)
		return nil
	}
	return v
}

// printableDetail keeps what a parser says of foreign bytes printable.
func printableDetail(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
}

// text gives a string member; missing, of another kind or blank is a fault.
func (d *document) text(o *strictjson.Value, key, code string, least, most int, trim bool) string {
	v := o.Get(key)
	switch {
	case v == nil:
		d.errorf(code, key, "this field is required")
		return ""
	case v.Kind != strictjson.String:
		d.errorf(code, key, "this is %s, not a string", v.Kind)
		return ""
	}
	text := v.Text
	if trim {
		text = strings.TrimSpace(text)
	}
	n := utf8.RuneCountInString(text)
	switch {
	case strings.TrimSpace(text) == "":
		d.errorf(code, key, "this is empty")
	case n < least:
		d.errorf(code, key, "this is shorter than %d characters", least)
	case n > most:
		d.f.add(Diagnostic{Level: LevelError, Code: code, Path: d.path, Field: key, Message: "this is too long", Actual: int64(n), Limit: int64(most), Unit: "characters"})
	default:
		if secretscan.Value(text) {
			d.f.addf(LevelWarning, "specialist.credential-like-text", d.path, key, "this holds something of the shape of a credential: a package is no place for one")
		}
		return text
	}
	return ""
}

// list gives a required array of unique, non-empty strings. word is skillIds or
// connectorIds.
func (d *document) list(o *strictjson.Value, key, word string) []string {
	out := []string{}
	v := o.Get(key)
	switch {
	case v == nil:
		d.errorf("specialist."+word+"-invalid", key, "this field is required, and may be []")
		return out
	case v.Kind != strictjson.Array:
		d.errorf("specialist."+word+"-invalid", key, "this is %s, not an array", v.Kind)
		return out
	}
	seen := map[string]bool{}
	for i, item := range v.Items {
		field := fmt.Sprintf("%s[%d]", key, i)
		text := strings.TrimSpace(item.Text)
		switch {
		case item.Kind != strictjson.String:
			d.errorf("specialist."+word+"-entry-invalid", field, "this is %s, not a string", item.Kind)
		case text == "":
			d.errorf("specialist."+word+"-entry-invalid", field, "this is empty")
		case len(text) > maxReference:
			d.f.add(Diagnostic{Level: LevelError, Code: "specialist." + word + "-entry-invalid", Path: d.path, Field: field, Message: "this is too long", Actual: int64(len(text)), Limit: maxReference, Unit: "bytes"})
		case seen[text]:
			d.errorf("specialist."+word+"-duplicate", field, "this stands in the list before")
		default:
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

// maxReference bounds the name of a skill or connector: names have 64
// characters, ids fewer than 128.
const maxReference = 256
