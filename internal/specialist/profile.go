package specialist

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"skill-mcp/internal/strictjson"
)

// Profile is what specialist.json says.
type Profile struct {
	Name         string // trimmed
	DisplayName  string // "" when there is none
	Description  string
	SystemPrompt string
	SkillIDs     []string // names as written
	ConnectorIDs []string // names as written
}

// The bounds of a profile, in characters.
const (
	minName        = 2
	maxName        = 80
	maxDescription = 1000
	maxPrompt      = 32768
)

var profileKeys = []string{"name", "display_name", "description", "system_prompt", "skill_ids", "connector_ids"}

// forbiddenKeys are fields that belong elsewhere, with the code that says so.
var forbiddenKeys = map[string]string{
	"id": "specialist.identity-field-forbidden", "version": "specialist.identity-field-forbidden",
	"icon_key": "specialist.presentation-field-forbidden", "color_key": "specialist.presentation-field-forbidden",
	"capability_mode": "specialist.capability-field-forbidden", "full_access": "specialist.capability-field-forbidden",
	"selected_capabilities": "specialist.capability-field-forbidden",
	"enabled":               "specialist.enabled-field-forbidden",
}

// parseProfile reads specialist.json. What is wrong is in f.
func parseProfile(text []byte, path string, f *findings) Profile {
	d := &document{path, f}
	var p Profile
	o := d.object(text, "specialist.object-required")
	if o == nil {
		return p
	}
	for _, member := range o.Members {
		code, known := forbiddenKeys[member.Key]
		switch {
		case known:
			d.errorf(code, member.Key, "a package may not set this")
		case !slices.Contains(profileKeys, member.Key):
			d.errorf("specialist.field-forbidden", quiet(member.Key), "a profile has no such field")
		}
	}
	p.Name = d.text(o, "name", "specialist.name-invalid", minName, maxName, true)
	if p.Name != "" && !nameCharacters(p.Name) {
		d.errorf("specialist.name-invalid", "name", "only letters, digits, spaces, _ and - may stand in a name")
	}
	if v := o.Get("display_name"); v != nil {
		p.DisplayName = d.displayName(o, v)
	}
	p.Description = d.text(o, "description", "specialist.description-invalid", 1, maxDescription, false)
	p.SystemPrompt = d.text(o, "system_prompt", "specialist.system-prompt-invalid", 1, maxPrompt, false)
	p.SkillIDs = d.list(o, "skill_ids", "skillIds")
	p.ConnectorIDs = d.list(o, "connector_ids", "connectorIds")
	return p
}

func (d *document) displayName(o, v *strictjson.Value) string {
	const code = "specialist.display-name-invalid"
	if v.Kind == strictjson.String && !utf8.ValidString(v.Text) {
		return ""
	}
	text := d.text(o, "display_name", code, 1, maxName, false)
	for _, r := range text {
		if unicode.IsControl(r) {
			d.errorf(code, "display_name", "control characters may not stand in a name")
			return ""
		}
	}
	return text
}

// nameCharacters: letters of any script with their marks, digits, space, _, -.
func nameCharacters(name string) bool {
	letter := false // a mark needs one before it
	for _, r := range name {
		switch {
		case unicode.IsLetter(r):
			letter = true
			continue
		case unicode.IsMark(r) && letter:
			continue
		case unicode.IsDigit(r), r == ' ', r == '_', r == '-':
		default:
			return false
		}
		letter = false
	}
	return true
}

// fields is the profile as the members of specialist.json, in the order they
// are written.
type profileFile struct {
	Name         string   `json:"name"`
	DisplayName  string   `json:"display_name,omitempty"`
	Description  string   `json:"description"`
	SystemPrompt string   `json:"system_prompt"`
	SkillIDs     []string `json:"skill_ids"`
	ConnectorIDs []string `json:"connector_ids"`
}

type manifestFile struct {
	SchemaVersion int    `json:"schema_version"`
	ID            string `json:"id"`
	Version       string `json:"version"`
	AppVersion    string `json:"exported_with_app_version"`
}
