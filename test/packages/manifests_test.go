package packages

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// compiled compiles a schema in testdata.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	source, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestServerJSONFitsItsSchema: the published one, and a stricter one of ours
// that lets no misspelt key pass.
func TestServerJSONFitsItsSchema(t *testing.T) {
	published, strict := compiled(t, "server-schema-2025-12-11.json"), compiled(t, "server-strict.json")
	good := text(t, "server.json")
	check := func(schema *jsonschema.Schema, s string) error {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	for name, schema := range map[string]*jsonschema.Schema{"published": published, "strict": strict} {
		if err := check(schema, good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var named struct {
		ID string `json:"$id"`
	}
	source, err := os.ReadFile("testdata/server-schema-2025-12-11.json")
	if err != nil || json.Unmarshal(source, &named) != nil || !strings.Contains(good, `"$schema": "`+named.ID+`"`) {
		t.Errorf("server.json names another schema than %s, %v", named.ID, err)
	}
	for _, c := range []struct {
		name, old, new string
		schema         *jsonschema.Schema
	}{
		{"a name without a slash", "io.github.chrischall/skill-mcp", "skill-mcp", published},
		{"a package without a transport", `"transport": { "type": "stdio" },`, "", published},
		{"a long description", "Serves Agent", strings.Repeat("Serves Agent ", 10), published},
		{"a transport without its address", `"stdio"`, `"sse"`, published},
		{"an unknown transport", `"stdio"`, `"pipe"`, published},
		{"an unknown format", `"filepath"`, `"folder"`, published},
		{"a version that is a word", `"version": "0.1.0"`, `"version": "latest"`, strict},
		{"a misspelt key", `"title"`, `"titel"`, strict},
		{"a misspelt key of a package", `"identifier"`, `"identifer"`, published},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if bad == good {
			t.Errorf("%s: the case changes nothing", c.name)
		} else if check(c.schema, bad) == nil {
			t.Errorf("%s is accepted", c.name)
		}
	}
	// The one variable that an installer asks for; everything else is the
	// owner's decision and belongs to nobody's default.
	if n := strings.Count(good, `"name": "`); n != 2 || !strings.Contains(good, `"name": "SKILLS_DIR"`) {
		t.Error("server.json lists another variable than SKILLS_DIR")
	}
}

// TestMintManifest: what the hosted manifest leaves out it leaves out on
// purpose, and it says why.
func TestMintManifest(t *testing.T) {
	source := text(t, "mint.yaml")
	var m map[string]any
	if err := yaml.Unmarshal([]byte(source), &m); err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if want := []string{"egress", "name", "slug", "version"}; !slices.Equal(keys, want) {
		t.Errorf("mint.yaml has the keys %v, want %v", keys, want)
	}
	egress, _ := m["egress"].(map[string]any)
	allow, isList := egress["allow"].([]any)
	if m["version"] != 1 || m["name"] != "Skills" || m["slug"] != "skills" || !isList || len(allow) != 0 || len(egress) != 1 {
		t.Errorf("mint.yaml says %v", m)
	}
	for _, absent := range []string{"runtime", "data folder", "env", "dependencies", "tools"} {
		if !regexp.MustCompile(`(?m)^# ` + absent + ` {2,}\S`).MatchString(source) {
			t.Errorf("mint.yaml does not say why it has no %s", absent)
		}
	}
}

// TestVersionsAgree: a release has one version, and each file that carries it
// is found here.
func TestVersionsAgree(t *testing.T) {
	want := version(t)
	pinned := regexp.MustCompile(`"version": "([^"]+)"|@chrischall/skill-mcp[\w-]*(?:": "|@)(\d[^"]*)"`)
	for path, count := range map[string]int{
		"server.json": 2, "packaging/mcpb/manifest.json": 1, "packaging/npm/package.json": 7,
		".claude-plugin/plugin.json": 1, ".claude-plugin/marketplace.json": 1, ".mcp.json": 1,
	} {
		found := pinned.FindAllStringSubmatch(text(t, path), -1)
		if len(found) != count {
			t.Errorf("%s carries the version %d times, want %d", path, len(found), count)
		}
		for _, m := range found {
			if m[1]+m[2] != want {
				t.Errorf("%s says %q, server.json says %s", path, m[0], want)
			}
		}
	}
}

// TestNamesAgree: a registry proves that the npm package belongs to the entry
// by the name in it.
func TestNamesAgree(t *testing.T) {
	var server struct {
		Name     string
		Packages []struct{ Identifier string }
	}
	var npm struct {
		Name, McpName        string
		OptionalDependencies map[string]string
	}
	for path, into := range map[string]any{"server.json": &server, "packaging/npm/package.json": &npm} {
		if err := json.Unmarshal([]byte(text(t, path)), into); err != nil {
			t.Fatal(err)
		}
	}
	if npm.McpName != server.Name || npm.Name != server.Packages[0].Identifier || len(npm.OptionalDependencies) != 6 {
		t.Errorf("server.json %+v and the npm package %+v do not fit", server, npm)
	}
}
