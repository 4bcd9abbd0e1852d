package specialist

import (
	"context"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// What is accepted is written again to the same meaning.
func FuzzManifest(f *testing.F) {
	f.Add(good().entries()[0].Data)
	f.Add([]byte(`{"schema_version":1.0,"id":"os-x","version":"01.0.0","id":"a"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found := &findings{}
		m := parseManifest(text, manifestName, found)
		if found.errors > 0 {
			return
		}
		file, err := jsonFile(manifestName, manifestFile{1, m.ID, m.Version, m.AppVersion})
		if err != nil {
			t.Fatal(err)
		}
		if again := parseManifest(readFile(t, file), manifestName, found); again != m || found.errors > 0 {
			t.Errorf("%+v became %+v: %v", m, again, found.list)
		}
	})
}

func FuzzProfile(f *testing.F) {
	f.Add(good().entries()[1].Data)
	f.Add([]byte(`{"name":"a b","description":"<&>","system_prompt":"\u2028","skill_ids":["a"],"connector_ids":[" b "],"display_name":"x"}`))
	f.Add([]byte(`{"name":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found := &findings{}
		p := parseProfile(text, profileName, found)
		for _, d := range found.list {
			if d.String() != printableDetail(d.String()) {
				t.Errorf("not printable: %q", d)
			}
		}
		if found.errors > 0 {
			return
		}
		file, err := jsonFile(profileName, profileFile(p))
		if err != nil {
			t.Fatal(err)
		}
		again := parseProfile(readFile(t, file), profileName, found)
		if found.errors > 0 || digest(again) != digest(p) {
			t.Errorf("%+v became %+v: %v", p, again, found.list)
		}
	})
}

func FuzzPackage(f *testing.F) {
	f.Add(good(skill("a", "x")...).zip())
	for n := range 10 {
		f.Add(mutate(n))
	}
	f.Add(ziptest.Zip())
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parseBytes(context.Background(), data, nil); err != nil {
			t.Error(err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"candidateToken":"x","confirmOverwrite":true,"skillConflictResolutions":[{"skillId":"a","resolution":"use-incoming"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := ParseRequest(text); err == nil && r.Token == "" {
			t.Error("a request without a token")
		}
	})
}
