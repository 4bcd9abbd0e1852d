package specialist

import (
	"regexp"
	"strings"
	"sync"

	"skill-mcp/internal/secretscan"
	"skill-mcp/internal/strictjson"
)

// Manifest is what manifest.json says.
type Manifest struct {
	ID         string
	Version    string // Semantic Versioning 2
	AppVersion string // of the program that exported it
}

var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,127}$`) })

// ValidID says whether a specialist may have this id. Ids are printed
// everywhere, so one of the shape of a credential is none.
func ValidID(id string) bool {
	return idRule().MatchString(id) && !strings.HasPrefix(id, "os-") && !strings.HasPrefix(id, "mcp-") && !secretscan.Value(id)
}

// parseManifest reads manifest.json. What is wrong is in f, and the field it is
// wrong with is empty.
func parseManifest(text []byte, path string, f *findings) Manifest {
	d := &document{path, f}
	var m Manifest
	o := d.object(text, "manifest.object-required")
	if o == nil {
		return m
	}
	for _, member := range o.Members {
		switch member.Key {
		case "schema_version", "id", "version", "exported_with_app_version":
		default:
			d.errorf("manifest.field-forbidden", quiet(member.Key), "a manifest has no such field")
		}
	}
	if v := o.Get("schema_version"); v == nil || v.Kind != strictjson.Number || v.Text != "1" {
		d.errorf("manifest.schema-version-unsupported", "schema_version", "only the number 1 is understood")
	}
	m.ID = d.matching(o, "id", "manifest.id-invalid", ValidID, "small letters, digits and hyphens, a letter or digit first, at most 128, not os- or mcp-")
	m.Version = d.matching(o, "version", "manifest.version-invalid", validVersion, "a version as 1.2.3, with -pre.release and +build if wanted")
	m.AppVersion = d.matching(o, "exported_with_app_version", "manifest.exported-app-version-invalid", validVersion, "a version as 1.2.3")
	return m
}

// matching gives a string member that a rule accepts.
func (d *document) matching(o *strictjson.Value, key, code string, rule func(string) bool, wanted string) string {
	v := o.Get(key)
	switch {
	case v == nil:
		d.errorf(code, key, "this field is required: %s", wanted)
	case v.Kind != strictjson.String:
		d.errorf(code, key, "this is %s, not a string: %s", v.Kind, wanted)
	case !rule(v.Text):
		d.errorf(code, key, "this is not %s", wanted)
	default:
		return v.Text
	}
	return ""
}
