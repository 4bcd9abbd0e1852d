package grant

import (
	"slices"
	"testing"
)

func TestAllows(t *testing.T) {
	rows := []Row{
		{Skill: "a", Script: "x.js", Env: []string{"KEY", "NODE_OPTIONS", "LD_PRELOAD", "NOT_DECLARED"}}, {Skill: "a", Script: "x.js", Env: []string{"MORE"}},
		{Skill: "b", Script: "y.js", Env: []string{}},
	}
	declared := []string{"MORE", "KEY", "NODE_OPTIONS", "LD_PRELOAD", "LD_ANY", "OTHER", "KEY", "MCP_CONFIRM_SECRET"}
	byRows := Grants{From: FromVariable, Rows: rows}
	for name, c := range map[string]struct {
		grants        Grants
		skill, script string
		env           []string
		ok            bool
	}{
		"what is declared, standalone": {Grants{From: FromDeclaration}, "a", "x.js", []string{"MORE", "KEY", "OTHER"}, true},
		"what two rows give together":  {byRows, "a", "x.js", []string{"MORE", "KEY"}, true},
		"a row without names":          {byRows, "b", "y.js", []string{}, true},
		"another script of the skill":  {byRows, "a", "y.js", []string{}, false},
		"the script of another skill":  {byRows, "c", "x.js", []string{}, false},
		"a skill in another case":      {byRows, "A", "x.js", []string{}, false},
		"nothing":                      {Grants{}, "a", "x.js", []string{}, false},
		"a hosted server without rows": {Grants{From: FromHosted, Rows: rows}, "a", "x.js", []string{}, false},
		"rows that could not be read":  {Grants{From: FromVariable, Rows: rows, Error: "bad"}, "a", "x.js", []string{}, false},
		"no rows":                      {Grants{From: FromVariable}, "a", "x.js", []string{}, false},
		"a source that nobody knows":   {Grants{From: "other", Rows: rows}, "a", "x.js", []string{}, false},
	} {
		env, ok := c.grants.Allows(c.skill, c.script, declared)
		if ok != c.ok || !slices.Equal(env, c.env) || env == nil {
			t.Errorf("%s: %v %v, want %v %v", name, env, ok, c.env, c.ok)
		}
	}
}

// environment is a lookup in a map.
func environment(pairs ...string) Lookup {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestWhereGrantsComeFrom(t *testing.T) {
	row := `[{"skill":"a","script":"x.js"}]`
	for name, c := range map[string]struct {
		look  Lookup
		from  Source
		rows  int
		wrong bool
	}{
		"nothing is set":                      {environment(), FromDeclaration, 0, false},
		"a form left empty":                   {environment("MCP_SKILL_RUN", " null "), FromDeclaration, 0, false},
		"a placeholder":                       {environment("MCP_SKILL_RUN", "${user_config.run}"), FromDeclaration, 0, false},
		"rows":                                {environment("MCP_SKILL_RUN", row), FromVariable, 1, false},
		"rows that grant nothing":             {environment("MCP_SKILL_RUN", "[]"), FromVariable, 0, false},
		"rows that cannot be read":            {environment("MCP_SKILL_RUN", "[{]"), FromVariable, 0, true},
		"hosted and nothing set":              {environment("MCP_SKILLS_PATH", "/x"), FromHosted, 0, false},
		"hosted by a folder of data":          {environment("MCP_DATA_DIR", "/x"), FromHosted, 0, false},
		"hosted and a form left empty":        {environment("MCP_HOST_METER_FILE", "/x", "MCP_SKILL_RUN", "undefined"), FromHosted, 0, false},
		"hosted with rows":                    {environment("MCP_BLOB_BASE_URL", "x", "MCP_SKILL_RUN", row), FromVariable, 1, false},
		"hosted and rows that cannot be read": {environment("MCP_SKILLS_PATH", "/x", "MCP_SKILL_RUN", "{}"), FromVariable, 0, true},
	} {
		got := From(c.look)
		if got.From != c.from || len(got.Rows) != c.rows || (got.Error != "") != c.wrong {
			t.Errorf("%s: %+v", name, got)
		}
		if _, ok := got.Allows("other", "other.js", nil); ok != (c.from == FromDeclaration) {
			t.Errorf("%s: a script that no row names is allowed: %v", name, ok)
		}
	}
}

func TestParseRowsRefuses(t *testing.T) {
	for _, bad := range []string{
		``, `null`, `{}`, `"a"`, `[`, `[1]`, `[null]`, `[{}]`, `[{"skill":"a"}]`, `[{"script":"x"}]`, `[{"skill":"","script":"x"}]`, `[{"skill":1,"script":"x"}]`,
		`[{"skill":"a","script":"x","script":"y"}]`, `[{"skill":"a","script":"x","env":"KEY"}]`, `[{"skill":"a","script":"x","env":[1]}]`,
		`[{"skill":"a","script":"x","env":["A-B"]}]`, `[{"skill":"a","script":"x","env":["1A"]}]`, `[{"skill":"a","script":"x","env":null}]`, `[{"skill":"a","script":"x"}] x`,
		`[{"Skill":"a","script":"x"}]`, `[{"skill":"a","script":"x","more":1,"more":2}]`,
	} {
		if rows, _, err := ParseRows(bad); err == nil {
			t.Errorf("%s is read as %+v", bad, rows)
		}
	}
	rows, notes, err := ParseRows(`[{"skill":"a","script":"x","env":["KEY","KEY"],"timeout":5}]`)
	if err != nil || len(rows) != 1 || len(notes) != 1 || !slices.Equal(rows[0].Env, []string{"KEY", "KEY"}) {
		t.Errorf("%+v %v %v", rows, notes, err)
	}
}

// FuzzParseRows: what is read grants only what it names.
func FuzzParseRows(f *testing.F) {
	for _, s := range []string{`[]`, `[{"skill":"a","script":"x.js","env":["KEY"]}]`, `[{"skill":"a","script":"x","more":{"skill":"b"}}]`, `[{"skill":"a","skill":"b","script":"x"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := ParseRows(text)
		if err != nil && rows != nil {
			t.Errorf("rows beside an error: %+v", rows)
		}
		g := Grants{From: FromVariable, Rows: rows}
		for _, r := range rows {
			env, ok := g.Allows(r.Skill, r.Script, []string{"KEY", "LD_PRELOAD"})
			if !ok || slices.Contains(env, "LD_PRELOAD") {
				t.Errorf("%+v: %v %v", r, env, ok)
			}
		}
		if _, ok := g.Allows("\x00", "\x00", nil); ok && err != nil {
			t.Error("a script of no row is allowed")
		}
	})
}
