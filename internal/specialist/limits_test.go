package specialist

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// noisy gives bytes that do not compress.
func noisy(n int) []byte {
	out := make([]byte, n)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(out)
	return out
}

// halfNoisy compresses to about an eighth.
func halfNoisy(n int) []byte {
	out := make([]byte, n)
	for i := 0; i+4096 <= n; i += 4096 {
		copy(out[i:i+512], noisy(512))
	}
	return out
}

func TestC32Limits(t *testing.T) {
	b := newBench(t)
	limit := func(name string, data []byte, code string, actual, most int64, unit string) {
		t.Helper()
		p := b.preview(data)
		if code == "" {
			if !p.Report.Installable {
				t.Errorf("%s: %v", name, p.Report.Diagnostics)
			}
			return
		}
		d := p.find(code)
		if d == nil || d.Actual != actual || d.Limit != most || d.Unit != unit || p.Report.Installable {
			t.Errorf("%s: %+v", name, p.Report.Diagnostics)
		}
	}
	files := func(n int) []byte {
		more := skill("a", "x")
		for i := range n - 3 {
			more = append(more, e{Name: fmt.Sprintf("skills/a/f%04d", i), Data: []byte("x")})
		}
		more = append(more, e{Name: "skills/a/folder/"})
		return good(more...).zip()
	}
	limit("2,000 files", files(2000), "", 0, 0, "")
	limit("2,001 files", files(2001), "package.archive-file-count-exceeded", 2001, 2000, "files")
	big := halfNoisy(MaxFileBytes + 1)
	packed := func(n int) e { return e{Name: "skills/a/big", Data: big[:n], Deflate: true} }
	limit("25 MiB", good(append(skill("a", "x"), packed(MaxFileBytes))...).zip(), "", 0, 0, "")
	limit("25 MiB + 1", good(append(skill("a", "x"), packed(MaxFileBytes+1))...).zip(), "package.archive-file-size-exceeded", MaxFileBytes+1, MaxFileBytes, "bytes")
	deep := func(segments int) []byte {
		return good(skill("a", "x", e{Name: strings.Repeat("d/", segments-3) + "f", Data: []byte("x")})...).zip()
	}
	limit("32 segments", deep(32), "", 0, 0, "")
	limit("33 segments", deep(33), "package.archive-path-depth-exceeded", 33, 32, "segments")
	zeros := make([]byte, 10<<20)
	if p := b.preview(good(skill("a", "x", e{Name: "z", Data: zeros, Deflate: true})...).zip()); p.find("package.archive-compression-ratio-exceeded") == nil {
		t.Errorf("10 MiB of zeros: %v", p.Report.Diagnostics)
	}
	limit("100 KB of zeros", good(skill("a", "x", e{Name: "z", Data: zeros[:100_000], Deflate: true})...).zip(), "", 0, 0, "")
}

func TestC32Sums(t *testing.T) {
	b := newBench(t)
	data := halfNoisy(MaxFileBytes)
	whole := ziptest.Pack(data)
	sum := func(over int) []byte {
		more, total := skill("a", "x"), 0
		for i := range 7 {
			more = append(more, e{Name: fmt.Sprintf("skills/a/f%d", i), Data: data, Packed: whole})
		}
		g := good(more...)
		for _, one := range g.entries() {
			total += len(one.Data)
		}
		g.more = append(g.more, e{Name: "skills/a/rest", Data: data[:MaxContentBytes-total+over], Deflate: true})
		return g.zip()
	}
	if p := b.preview(sum(0)); !p.Report.Installable {
		t.Errorf("200 MiB: %v", p.Report.Diagnostics)
	}
	if d := b.preview(sum(1)).find("package.archive-uncompressed-size-exceeded"); d == nil || d.Actual != MaxContentBytes+1 || d.Limit != MaxContentBytes {
		t.Errorf("200 MiB + 1: %+v", d)
	}
	raw := noisy(MaxFileBytes)
	compressed := func(over int) []byte {
		g := good(append(skill("a", "x"), e{Name: "skills/a/one", Data: raw})...)
		rest := MaxPackageBytes - len(g.zip()) - 30 - 46 - 2*len("skills/a/two") + over
		g.more = append(g.more, e{Name: "skills/a/two", Data: raw[:rest]})
		return g.zip()
	}
	if p := b.preview(compressed(0)); !p.Report.Installable {
		t.Errorf("50 MiB: %v", p.Report.Diagnostics)
	}
	if d := b.preview(compressed(1)).find("package.archive-compressed-size-exceeded"); d == nil || d.Actual != MaxPackageBytes+1 || d.Limit != MaxPackageBytes || d.Unit != "bytes" {
		t.Errorf("50 MiB + 1: %+v", d)
	}
}

// Too much of everything does not hide what else is wrong.
func TestLimitsDoNotHideOtherFaults(t *testing.T) {
	b := newBench(t)
	g := good(e{Name: "skills/Bad/SKILL.md"}).m("id", "A").p("enabled", true)
	for i := range MaxFiles {
		g.more = append(g.more, e{Name: fmt.Sprintf("skills/a/f%04d", i)})
	}
	for i := range 10 {
		g.more = append(g.more, e{Name: fmt.Sprintf("skills/b/f%d", i), Size: ziptest.U32(MaxFileBytes)})
	}
	p := b.preview(g.zip())
	for _, code := range []string{"package.archive-file-count-exceeded", "manifest.id-invalid", "specialist.enabled-field-forbidden"} {
		if p.find(code) == nil {
			t.Errorf("%s is not reported: %v", code, p.codes(LevelError))
		}
	}
}

func TestC34SizesThatLie(t *testing.T) {
	b := newBench(t)
	data := bytes.Repeat([]byte("0123456789"), 1000)
	p := b.preview(good(skill("a", "x", e{Name: "f", Data: data, Deflate: true, Size: ziptest.U32(10)})...).zip())
	if p.Report.Installable || errorsOf(p) != "package.archive-invalid" {
		t.Errorf("%v", p.Report.Diagnostics)
	}
}
