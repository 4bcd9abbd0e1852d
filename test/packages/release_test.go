package packages

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoReleasesAreEqual makes the release again from a copy of the source in
// another folder, which is no repository: every file has the same bytes.
func TestTwoReleasesAreEqual(t *testing.T) {
	elsewhere := filepath.Join(folder(t), "a", "longer", "way", "to", "the source")
	if err := os.MkdirAll(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	files := command(t, repository, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for _, f := range strings.Split(strings.TrimRight(files, "\x00"), "\x00") {
		copied(t, filepath.Join(repository, f), filepath.Join(elsewhere, f))
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(repository, "test/node/node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if modules, err = filepath.Abs(modules); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(elsewhere, "test/node/node_modules")); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(folder(t), "again")
	cmd := exec.Command("go", "run", "./packaging/release", "-host", "-out", again)
	cmd.Dir, cmd.Env = elsewhere, append(os.Environ(), "TZ=Asia/Tokyo")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, second := tree(t, dist), tree(t, again)
	whole := len(first) == len(second) // else first has all platforms, and one bill for them
	for name, text := range second {
		if name == "provenance.json" || name == "SHA256SUMS" || !whole && name == "sbom.cdx.json" {
			continue // one names the commit, which the copy does not have, and the other names the one
		}
		if !bytes.Equal(text, first[name]) {
			t.Errorf("%s differs (%d and %d bytes)", name, len(first[name]), len(text))
		}
		if bytes.Contains(text, []byte("the source/")) {
			t.Errorf("%s holds the folder it was built in", name)
		}
	}
	if len(first) < len(second) || len(second) < 45 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	st, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // removed and not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, st.Mode().Perm()&^0o044); err != nil {
		t.Fatal(err)
	}
}

// tree reads a folder.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			files[rel], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestChecksums: what a person runs after a download.
func TestChecksums(t *testing.T) {
	command(t, dist, nil, "sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS")
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range tree(t, dist) {
		if name != "SHA256SUMS" && !strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("%s has no checksum", name)
		}
	}
}

// TestBillOfMaterials compares the bill with the programs.
func TestBillOfMaterials(t *testing.T) {
	var bill struct {
		BomFormat, SpecVersion string
		Components             []struct{ Name, Version, Purl string }
	}
	read(t, "sbom.cdx.json", &bill)
	if bill.BomFormat != "CycloneDX" || bill.SpecVersion != "1.5" {
		t.Errorf("%s %s", bill.BomFormat, bill.SpecVersion)
	}
	listed := map[string]bool{}
	for _, c := range bill.Components {
		if c.Purl == "" || listed[c.Name] {
			t.Errorf("%s has no purl, or stands twice", c.Name)
		}
		listed[c.Name] = true
	}
	for _, p := range []string{"skill-mcp", "skill-exec", "skill-egress"} {
		info, err := buildinfo.ReadFile(filepath.Join(dist, "programs", goPlatform(), p))
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Deps) == 0 {
			t.Errorf("%s names no modules", p)
		}
		for _, m := range info.Deps {
			if !listed[m.Path] {
				t.Errorf("%s links %s, which the bill does not list", p, m.Path)
			}
		}
	}
	if !listed["std"] || listed["github.com/goreleaser/nfpm/v2"] {
		t.Error("the bill lists a tool, or leaves the standard library out")
	}
}

// TestProvenance: the statement names every file that can be installed.
func TestProvenance(t *testing.T) {
	var p struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct {
			Name   string
			Digest struct{ Sha256 string }
		}
		Predicate struct {
			BuildDefinition struct{ ResolvedDependencies []map[string]any }
		}
	}
	read(t, "provenance.json", &p)
	if p.Type != "https://in-toto.io/Statement/v1" || p.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("%s, %s", p.Type, p.PredicateType)
	}
	named := map[string]string{}
	for _, s := range p.Subject {
		named[s.Name] = s.Digest.Sha256
	}
	for name := range tree(t, dist) {
		if len(named[name]) != 64 && name != "SHA256SUMS" && name != "provenance.json" {
			t.Errorf("the statement does not name %s", name)
		}
	}
	if d := p.Predicate.BuildDefinition.ResolvedDependencies; len(d) != 4 || d[0]["digest"] == nil {
		t.Errorf("resolved dependencies: %v", d)
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
