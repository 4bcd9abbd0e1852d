package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// TestArchivesOfRealTools imports what people's tools make of one folder.
func TestArchivesOfRealTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pdf")
	err := errors.Join(os.MkdirAll(dir+"/scripts", 0o755), os.WriteFile(dir+"/SKILL.md", md("pdf"), 0o644), os.WriteFile(dir+"/empty", nil, 0o644),
		os.WriteFile(dir+"/scripts/run.sh", []byte("#!/bin/sh\necho run\n"), 0o755), os.WriteFile(dir+"/long.txt", make([]byte, 300<<10), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	repo := "git init -q . && git -c user.name=n -c user.email=e@example.com add . && git -c user.name=n -c user.email=e@example.com commit -qm x && "
	python := "import sys, zipfile, os\n" +
		"z = zipfile.ZipFile(%s, 'w', zipfile.ZIP_DEFLATED)\n" +
		"[z.write(os.path.join(d, f)) for d, _, fs in os.walk('pdf') for f in sorted(fs)]\nz.close()"
	for name, c := range map[string]struct{ needs, script string }{
		"zip":                 {"zip", "zip -qr $OUT pdf"},
		"zip, stored":         {"zip", "zip -qr0 $OUT pdf"},
		"zip to a pipe":       {"zip", "zip -qr - pdf | cat > $OUT"},
		"zip inside":          {"zip", "cd pdf && zip -qr $OUT ."},
		"git archive":         {"git", repo + "git archive --format=zip HEAD pdf > $OUT"},
		"git archive, prefix": {"git", repo + "git archive --format=zip --prefix=repo-main/ HEAD > $OUT"},
		"python":              {"python3", "python3 -c \"" + fmt.Sprintf(python, "os.environ['OUT']") + "\""},
		"python to a pipe":    {"python3", "python3 -c \"" + fmt.Sprintf(python, "sys.stdout.buffer") + "\" | cat > $OUT"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("%s is not installed", c.needs)
			}
			out := filepath.Join(t.TempDir(), "out.zip")
			work := t.TempDir()
			if err := os.CopyFS(filepath.Join(work, "pdf"), os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-ec", c.script)
			cmd.Dir, cmd.Env = work, append(os.Environ(), "OUT="+out)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			b := newBench(t)
			p := b.previewOf(out)
			if res := b.apply(p); res[0].Status != StatusImported || b.tree() != "pdf pdf/.source.json pdf/SKILL.md pdf/empty pdf/long.txt pdf/scripts pdf/scripts/run.sh" {
				t.Fatalf("%+v %s", res, b.tree())
			}
			if info, err := os.Stat(filepath.Join(b.Into, "pdf/scripts/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%v %v", info, err)
			}
		})
	}
}

// TestFinderArchive is what a Mac's Finder streams: data descriptors on every
// file, folders as entries, a second tree of resource forks.
func TestFinderArchive(t *testing.T) {
	streamed := func(name string, data []byte, mode uint32) e {
		return e{Name: name, Data: data, Deflate: true, Descriptor: true, Mode: 0o100000 | mode, MadeBy: 3<<8 | 21}
	}
	b := newBench(t)
	b.install(
		e{Name: "pdf/", Mode: 0o040755, MadeBy: 3<<8 | 21},
		streamed("pdf/SKILL.md", md("pdf"), 0o644), streamed("pdf/.DS_Store", make([]byte, 6148), 0o644),
		streamed("__MACOSX/pdf/._SKILL.md", make([]byte, 120), 0o644), streamed("__MACOSX/._pdf", nil, 0o644),
		e{Name: "pdf/scripts/", Mode: 0o040755}, streamed("pdf/scripts/run.sh", []byte("#!/bin/sh\n"), 0o755), streamed("pdf/empty", nil, 0o644))
	if b.tree() != "pdf pdf/.source.json pdf/SKILL.md pdf/empty pdf/scripts pdf/scripts/run.sh" {
		t.Error(b.tree())
	}
}

// TestB47ReferenceFiles: a skill with its document and 16,383 others is
// installed; with one more nothing is made.
func TestB47ReferenceFiles(t *testing.T) {
	b := newBench(t)
	many := func(n int) []e {
		out := skillAt("", "many")
		for i := range n {
			out = append(out, e{Name: fmt.Sprintf("references/%d/%d.md", i%100, i)})
		}
		return out
	}
	p := b.previewOf(b.file(ziptest.Zip(many(MaxFiles)...)))
	a, err := b.Apply(context.Background(), p.Token, []Choice{{}}, false)
	if err != nil || a.Failed() != 1 || b.tree() != "" {
		t.Fatalf("16,384: %+v %v %s", a, err, b.tree())
	}
	if res := b.apply(b.preview(many(MaxFiles - 1)...)); res[0].Status != StatusImported {
		t.Fatalf("16,383: %+v", res)
	}
	if found, err := Verify(context.Background(), b.Into, nil); err != nil || found[0].Condition != ConditionIntact {
		t.Errorf("%+v %v", found[0].Condition, err)
	}
}

// FuzzDocument: reading any SKILL.md does not fail, and one whose name was set
// has that name and is otherwise as it was.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nbody", "---\r\nName: x\r\ndisplayName: y\r\n---\r\n", "---\nname: |\n  a\n  b\ndescription: c\n---\n", "# no",
		"---\n\"name\": a\n? name2\n: b\n---\n", "---\nmeta:\n  name: inner\nname: outer\n---\n", "---\n{name: a, b: c}\n---\n", "---\nname:\n- a\n---\nname: body\n---\n", "\ufeff---\nname: a # c\n\n# d\n---"} {
		f.Add([]byte(s), "new-name")
	}
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		before := ParseDocument(data)
		install := NormaliseName(before.Name)
		if install != "" && (!nameRule().MatchString(install) || len(install) > maxName) {
			t.Fatalf("%q is normalised to %q", before.Name, install)
		}
		if !ValidName(name) {
			return
		}
		out, err := setFields(data, name)
		if err != nil {
			return
		}
		after := ParseDocument(out)
		if after.Name != name || after.Body != before.Body || after.Description != before.Description || hasDisplayName(after) {
			t.Fatalf("%q became %q", data, out)
		}
	})
}
