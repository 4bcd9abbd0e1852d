package check

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is the published schema of SARIF 2.1.0 (errata 01).
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSARIFMeetsThePublishedSchema(t *testing.T) {
	s := schema(t)
	reports := map[string]Report{
		"nothing found": {Findings: []Finding{}},
		"findings of every kind": {
			Findings: []Finding{
				{"/base/s d/SKILL.md", 3, 7, Error, "not-portable", "name is missing"},
				{"/base/s d/SKILL.md", 4, 1, Warning, "declaration", "unknown key"},
				{"/else/a:b", 0, 0, Error, "dependency.url", "is no address"},
				{"/base", 0, 0, Error, CodeNoSkills, "no skill here"},
			},
			NotChecked: []Unchecked{{"/base/x.js", "node syntax", "no fence"}},
		},
	}
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			if err := s.Validate(asJSON(t, r.SARIF("/base", "1.0.0"))); err != nil {
				t.Error(err)
			}
		})
	}
	broken := asJSON(t, reports["findings of every kind"].SARIF("/base", "1.0.0")).(map[string]any)
	broken["runs"].([]any)[0].(map[string]any)["results"].([]any)[0].(map[string]any)["level"] = "bad"
	if s.Validate(broken) == nil {
		t.Error("the schema takes a level that does not exist: it checks nothing")
	}
}

// asJSON writes and reads v, as a validator wants it.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSARIFNamesFilesAsURIs(t *testing.T) {
	for path, want := range map[string]string{
		"/base/s/SKILL.md":  "s/SKILL.md",
		"/base/a b/ü#?.js":  "a%20b/%C3%BC%23%3F.js",
		"/base/a:b":         "./a:b",
		"/base":             ".",
		"/based/x":          "file:///based/x",
		"/base/..x/y":       "..x/y",
		"/elsewhere/a b.js": "file:///elsewhere/a%20b.js",
	} {
		if got := uri("/base", path); got != want {
			t.Errorf("uri of %s: got %s, want %s", path, got, want)
		}
	}
}
