package specialist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/archive/ziptest"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

type e = ziptest.Entry

// prompt is looked for in everything that is said.
const prompt = "You are PROMPT-MARKER and review code."

// bench is a shelf with a store and a folder of skills of its own.
type bench struct {
	*Shelf
	t     *testing.T
	dir   string
	clock time.Time
}

// newBench works in memory where the machine has a place for that: every change
// is synced, and a busy disk proves nothing more.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "specialist-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := &bench{t: t, dir: dir, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.Shelf = &Shelf{Store: s, Into: filepath.Join(dir, "skills"), Owner: "me", App: "1.2.3", Now: func() time.Time { return b.clock }}
	return b
}

// parts is a package in the making: documents as maps, and entries.
type parts struct {
	manifest, profile map[string]any
	more              []e
	prefix            string
}

func good(more ...e) parts {
	return parts{
		manifest: map[string]any{"schema_version": 1, "id": "rev", "version": "1.0.0", "exported_with_app_version": "0.9.0"},
		profile: map[string]any{"name": "Reviewer", "description": "Reviews code.", "system_prompt": prompt,
			"skill_ids": []any{}, "connector_ids": []any{}},
		more: more,
	}
}

// with gives a copy with some members of a document set; nil removes one.
func with(m map[string]any, pairs ...any) map[string]any {
	m = maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			delete(m, pairs[i].(string))
			continue
		}
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func (p parts) m(pairs ...any) parts { p.manifest = with(p.manifest, pairs...); return p }
func (p parts) p(pairs ...any) parts { p.profile = with(p.profile, pairs...); return p }

func (p parts) entries() []e {
	text := func(v any) []byte { data, _ := json.Marshal(v); return data }
	all := []e{{Name: p.prefix + "manifest.json", Data: text(p.manifest)}, {Name: p.prefix + "specialist.json", Data: text(p.profile)}}
	for _, m := range p.more {
		m.Name = p.prefix + m.Name
		all = append(all, m)
	}
	return all
}

func (p parts) zip() []byte { return ziptest.Zip(p.entries()...) }

// skill is a bundled skill.
func skill(name, body string, more ...e) []e {
	out := []e{{Name: "skills/" + name + "/SKILL.md", Data: []byte("---\nname: " + name + "\ndescription: does " + name + "\n---\n" + body + "\n")}}
	for _, m := range more {
		m.Name = "skills/" + name + "/" + m.Name
		out = append(out, m)
	}
	return out
}

func (b *bench) file(data []byte) string {
	b.t.Helper()
	f, err := os.CreateTemp(b.dir, "package-*.zip")
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		b.t.Fatal(err)
	}
	return f.Name()
}

// preview looks at a package and proves what holds of every report.
func (b *bench) preview(data []byte) *Preview {
	b.t.Helper()
	name := b.file(data)
	defer os.Remove(name)
	return b.previewOf(name)
}

func (b *bench) previewOf(source string) *Preview {
	b.t.Helper()
	p, err := b.Preview(context.Background(), source)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := json.Marshal(p.Report)
	if err != nil {
		b.t.Fatal(err)
	}
	said := string(text) + strings.Join(p.Report.Lines(), "\n")
	for _, never := range []string{"PROMPT-MARKER", b.dir, p.Token} {
		if never != "" && strings.Contains(said, never) {
			b.t.Fatalf("the report holds %q: %s", never, said)
		}
	}
	for _, line := range p.Report.Lines() {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e }) {
			b.t.Fatalf("the report holds control characters: %q", line)
		}
	}
	return p
}

func (p *Preview) codes(level Level) []string {
	out := []string{}
	for _, d := range p.Report.Diagnostics {
		if d.Level == level {
			out = append(out, d.Code)
		}
	}
	slices.Sort(out)
	return out
}

func (p *Preview) find(code string) *Diagnostic {
	for i := range p.Report.Diagnostics {
		if p.Report.Diagnostics[i].Code == code {
			return &p.Report.Diagnostics[i]
		}
	}
	return nil
}

func codeOf(err error) string {
	var r *pack.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprint(err)
}

func (b *bench) install(data []byte, resolutions ...Resolution) *Installed {
	b.t.Helper()
	p := b.preview(data)
	out, err := b.Install(context.Background(), Request{Token: p.Token, ConfirmOverwrite: true, Resolutions: resolutions})
	if err != nil {
		b.t.Fatalf("%v\n%v", err, p.Report.Diagnostics)
	}
	return out
}

// request installs with a request and gives the code of the refusal, "" when it
// was installed.
func (b *bench) request(r Request) string {
	_, err := b.Install(context.Background(), r)
	if err == nil {
		return ""
	}
	return codeOf(err)
}

// imported puts a skill into place as an import does.
func (b *bench) imported(name, body string) {
	b.t.Helper()
	file := b.file(ziptest.Zip(e{Name: "SKILL.md", Data: skill(name, body)[0].Data}))
	im := &pack.Importer{Store: b.Store, Into: b.Into, Owner: b.Owner, Version: "test", Now: b.Now}
	p, err := im.Preview(context.Background(), file)
	if err != nil {
		b.t.Fatal(err)
	}
	choice := pack.Choice{Path: p.Candidates[0].Path, ReplaceID: p.Candidates[0].ReplaceableID}
	a, err := im.Apply(context.Background(), p.Token, []pack.Choice{choice}, false)
	if err != nil || a.Failed() > 0 {
		b.t.Fatal(err, a)
	}
}

// byHand puts a skill into place that nothing imported.
func (b *bench) byHand(name, body string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Join(b.Into, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.Into, name, "SKILL.md"), skill(name, body)[0].Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// body gives the SKILL.md of an installed skill, "-" without.
func (b *bench) body(name string) string {
	data, err := os.ReadFile(filepath.Join(b.Into, name, "SKILL.md"))
	if err != nil {
		return "-"
	}
	return string(data)
}

// tree is everything below the folder of skills and the records, with content,
// but without what a preview keeps.
func (b *bench) tree() string {
	var out strings.Builder
	for _, dir := range []string{b.Into, filepath.Join(b.Store.Dir(), recordKind)} {
		_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				data, _ := os.ReadFile(p)
				fmt.Fprintf(&out, "%s %s\n", p[len(b.dir):], hashBytes(data))
			}
			return nil
		})
	}
	return out.String()
}

func (b *bench) record(id string) *Record {
	b.t.Helper()
	r, err := b.Get(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func readFile(t *testing.T, f archive.File) []byte {
	t.Helper()
	in, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
