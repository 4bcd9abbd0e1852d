package grant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Lookup gives the value of an environment variable and whether it is set, as
// os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Read gives the trimmed value of an owner's variable. Blank, the words null
// and undefined, and a wholly unexpanded ${…} placeholder count as unset:
// clients pass those when a field of their form was left empty.
func Read(look Lookup, name string) (string, bool) {
	v, ok := look(name)
	if !ok {
		return "", false
	}
	v = strings.TrimSpace(v)
	if v == "" || v == "null" || v == "undefined" || (strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}")) {
		return "", false
	}
	return v, true
}

// hostedMarkers are variables that only a hosting registration injects.
var hostedMarkers = []string{"MCP_SKILLS_PATH", "MCP_HOST_METER_FILE", "MCP_DATA_DIR", "MCP_BLOB_BASE_URL"}

// Hosted reports whether a hosting registration started this server.
func Hosted(look Lookup) bool {
	for _, n := range hostedMarkers {
		if _, ok := Read(look, n); ok {
			return true
		}
	}
	return false
}

// From reads the grants of an environment. A value that cannot be read grants
// nothing and says so; it never falls back to the declaration.
func From(look Lookup) Grants {
	text, ok := Read(look, "MCP_SKILL_RUN")
	if !ok && Hosted(look) {
		return Grants{From: FromHosted}
	}
	if !ok {
		return Grants{From: FromDeclaration}
	}
	rows, notes, err := ParseRows(text)
	if err != nil {
		return Grants{From: FromVariable, Error: fmt.Sprintf("MCP_SKILL_RUN: %v", err)}
	}
	return Grants{From: FromVariable, Rows: rows, Notes: notes}
}

// ParseRows reads the JSON array of MCP_SKILL_RUN. Every row needs the strings
// skill and script; env, when present, is a list of variable names. A key given
// twice is refused, since two readers could see two grants; an unknown key
// grants nothing and becomes a note.
func ParseRows(text string) (rows []Row, notes []string, err error) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, nil, fmt.Errorf("not a JSON array of rows: %w", err)
	}
	if raw == nil {
		return nil, nil, errors.New("not a JSON array of rows: null")
	}
	rows = make([]Row, 0, len(raw))
	for i, r := range raw {
		row, unknown, err := parseRow(r)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		for _, k := range unknown {
			notes = append(notes, fmt.Sprintf("row %d: unknown key %q is ignored (known: skill, script, env)", i, k))
		}
		rows = append(rows, row)
	}
	return rows, notes, nil
}

// parseRow reads one row, key by key, so that repeats and other spellings show.
func parseRow(raw json.RawMessage) (row Row, unknown []string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Row{}, nil, errors.New("not an object {skill, script, env}")
	}
	row.Env = []string{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Row{}, nil, err
		}
		key := t.(string)
		if seen[key] {
			return Row{}, nil, fmt.Errorf("key %q is given twice", key)
		}
		seen[key] = true
		known, err := row.set(key, d)
		if err != nil {
			return Row{}, nil, err
		}
		if !known {
			unknown = append(unknown, key)
		}
	}
	if row.Skill == "" || row.Script == "" {
		return Row{}, nil, errors.New("needs a non-empty string for both skill and script")
	}
	return row, unknown, nil
}

// set takes the value of one key and says whether the key is known.
func (r *Row) set(key string, d *json.Decoder) (known bool, err error) {
	var v any
	if err := d.Decode(&v); err != nil {
		return false, err
	}
	switch key {
	case "skill", "script":
		s, ok := v.(string)
		if !ok {
			return true, fmt.Errorf("%s is not a string", key)
		}
		if key == "skill" {
			r.Skill = s
		} else {
			r.Script = s
		}
		return true, nil
	case "env":
		return true, r.setEnv(v)
	}
	return false, nil
}

// setEnv takes the list of variable names.
func (r *Row) setEnv(v any) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("env is not a list of names")
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok || !Identifier(s) {
			return fmt.Errorf("env holds %v, which is not a variable name", e)
		}
		r.Env = append(r.Env, s)
	}
	return nil
}
