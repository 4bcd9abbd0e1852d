package pack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/archive/ziptest"
)

func TestB24Tokens(t *testing.T) {
	fresh := func(t *testing.T) (*bench, *Preview, string) {
		b := newBench(t)
		file := b.file(ziptest.Zip(skillAt("", "x")...))
		return b, b.previewOf(file), file
	}
	refused := func(t *testing.T, b *bench, token, code string) {
		t.Helper()
		before := b.tree()
		if _, err := b.Apply(context.Background(), token, nil, true); codeOf(err) != code {
			t.Errorf("got %v, want %s", err, code)
		}
		if b.tree() != before {
			t.Errorf("changed: %s", b.tree())
		}
	}
	t.Run("used twice", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.apply(p)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("after ten minutes", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.clock = b.clock.Add(10 * time.Minute)
		refused(t, b, p.Token, CodeTokenExpired)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("just before ten minutes", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.clock = b.clock.Add(10*time.Minute - time.Second)
		b.apply(p)
	})
	t.Run("by another owner", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.Owner = "somebody"
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("after a new preview", func(t *testing.T) {
		b, p, file := fresh(t)
		b.previewOf(file)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("a random one", func(t *testing.T) {
		b, _, _ := fresh(t)
		refused(t, b, strings.Repeat("0", 64), CodeTokenUnknown)
	})
	t.Run("the file changed", func(t *testing.T) {
		b, p, file := fresh(t)
		if err := os.WriteFile(file, ziptest.Zip(skillAt("", "x", e{Name: "more"})...), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, b, p.Token, CodeSourceChanged)
	})
	t.Run("the file is gone", func(t *testing.T) {
		b, p, file := fresh(t)
		os.Remove(file)
		refused(t, b, p.Token, CodeSourceChanged)
	})
	t.Run("the catalog changed", func(t *testing.T) {
		b, p, _ := fresh(t)
		if err := os.MkdirAll(filepath.Join(b.Into, "other"), 0o755); err != nil {
			t.Fatal(err)
		}
		refused(t, b, p.Token, CodeCatalogChanged)
	})
}
