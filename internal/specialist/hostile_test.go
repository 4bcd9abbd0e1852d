package specialist

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// secrets are planted into mutations; none may ever be printed.
var secrets = []string{
	"sk-" + "abcdefghij-klmnopqrstuvwx",
	"ghp_" + "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "AKIA" + "ABCDEFGHIJKLMNOP",
	"eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}

// mutate makes a hostile package of a good one; what it does follows from n.
func mutate(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	g := good(append(skill("lint", "x", e{Name: "scripts/run.sh", Data: []byte("#!/bin/sh\n")}), skill("docs", "y")...)...).p("skill_ids", []any{"lint"})
	entries := g.entries()
	document := func() *e { return &entries[r.IntN(2)] }
	secret := secrets[r.IntN(len(secrets))]
	switch n % 10 {
	case 0: // bytes of the archive
		data := ziptest.Zip(entries...)
		for range 1 + r.IntN(8) {
			data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
		}
		return data
	case 1: // cut off
		data := ziptest.Zip(entries...)
		return data[:r.IntN(len(data))]
	case 2: // bytes of a document
		d := document()
		d.Data = bytes.Clone(d.Data)
		for range 1 + r.IntN(4) {
			d.Data[r.IntN(len(d.Data))] ^= byte(1 << r.IntN(8))
		}
	case 3: // a document cut off
		d := document()
		d.Data = d.Data[:r.IntN(len(d.Data))]
	case 4: // a key twice, with a secret
		d := document()
		d.Data = append([]byte(fmt.Sprintf(`{"id":%q,"name":%q,"skill_ids":[%q],`, secret, secret, secret)), d.Data[1:]...)
	case 5: // another case
		d := document()
		d.Data = bytes.Replace(d.Data, []byte(`"name"`), []byte(`"Name"`), 1)
		d.Data = bytes.Replace(d.Data, []byte(`"id"`), []byte(`"ID"`), 1)
	case 6: // deep nesting
		d := document()
		d.Data = []byte(strings.Repeat(`{"id":[`, 20+r.IntN(20000)))
	case 7: // secrets where they do not belong
		field := []string{"name", "display_name", "description", "system_prompt", secret}[r.IntN(5)]
		g = g.p(field, secret, "skill_ids", []any{secret}, "connector_ids", []any{"a " + secret}).m("id", secret, secret, 1)
		entries = append(g.entries(), e{Name: "skills/" + secret + "/SKILL.md"}, e{Name: secret})
	case 8: // names
		names := []string{"../out", "/out", `..\out`, "C:/out", "skills/lint/../../out", "skills/lint/\x1b[2J", "skills/\u202e/SKILL.md", "skills/lint/scripts", "SKILLS/lint/x", "skills/lint/CON"}
		entries = append(entries, e{Name: names[r.IntN(len(names))] + secret[:r.IntN(4)], Data: []byte("x"), Mode: []uint32{0, 0o120777, 0o010644, 0o104755}[r.IntN(4)]})
	case 9: // lies of a header
		lie := uint32(r.IntN(1 << 30))
		one := &entries[r.IntN(len(entries))]
		switch r.IntN(6) {
		case 0:
			one.Size = &lie
		case 1:
			one.CRC = &lie
		case 2:
			one.Offset = &lie
		case 3:
			one.Flags = uint16(lie)
		case 4:
			one.Method = uint16(lie)
		case 5:
			one.LocalName = secret
		}
	}
	return ziptest.Zip(entries...)
}

// outside lists what lies beside the store and the folder of skills.
func (b *bench) outside() string {
	out := ""
	_ = filepath.WalkDir(b.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == b.Store.Dir() || p == b.Into {
			return fs.SkipDir
		}
		out += p + " "
		return nil
	})
	return out
}

func TestHostilePackages(t *testing.T) {
	b := newBench(t)
	source := b.file(nil)
	here := b.outside()
	installable := 0
	for n := range 250 {
		if err := os.WriteFile(source, mutate(n), 0o600); err != nil {
			t.Fatal(err)
		}
		p := b.previewOf(source)
		said, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		all := string(said) + strings.Join(p.Report.Lines(), "\n")
		out, err := b.Install(context.Background(), Request{Token: p.Token, ConfirmOverwrite: true})
		said, _ = json.Marshal(out)
		all += string(said) + fmt.Sprint(err)
		if p.Report.Installable {
			installable++
			if err != nil && codeOf(err) != CodeResolutionRequired {
				t.Errorf("mutation %d: installable, but %v", n, err)
			}
		} else if err == nil {
			t.Errorf("mutation %d: installed against its report: %v", n, p.Report.Diagnostics)
		}
		for _, secret := range secrets {
			if strings.Contains(all, secret) {
				t.Errorf("mutation %d: a secret was printed: %s", n, all)
			}
		}
		if b.outside() != here {
			t.Fatalf("mutation %d: written outside the store: %s", n, b.outside())
		}
		if p.Report.Installable {
			_ = os.RemoveAll(b.Into)
			_ = os.RemoveAll(filepath.Join(b.Store.Dir(), recordKind))
		}
	}
	if installable == 0 || installable > 100 {
		t.Errorf("%d of the mutations are installable: they do not test much", installable)
	}
}
