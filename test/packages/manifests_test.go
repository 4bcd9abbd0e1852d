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

// serverSchema compiles the schema in testdata.
func serverSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	source, err := os.ReadFile("testdata/server.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("server.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("server.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestServerJSONFitsItsSchema(t *testing.T) {
	schema := serverSchema(t)
	good := text(t, "server.json")
	check := func(s string) error {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	if err := check(good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"a name without a slash":   strings.Replace(good, "io.github.chrischall/skill-mcp", "skill-mcp", 1),
		"a version that is a word": strings.Replace(good, `"version": "0.1.0"`, `"version": "latest"`, 1),
		"a misspelt key":           strings.Replace(good, `"title"`, `"titel"`, 1),
		"a long description":       strings.Replace(good, "Serves Agent", strings.Repeat("Serves Agent ", 10), 1),
		"an unknown transport":     strings.Replace(good, `"stdio"`, `"pipe"`, 1),
	} {
		if bad == good {
			t.Errorf("%s: the case changes nothing", name)
		} else if check(bad) == nil {
			t.Errorf("%s is accepted", name)
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
