package archive

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func fileOf(name string, data []byte) File {
	return File{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

func TestWriteIsReadBackAndIsTheSameTwice(t *testing.T) {
	noise := make([]byte, 3<<20)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(noise)
	half := append(bytes.Clone(noise), make([]byte, 1<<20)...)
	script := fileOf("scripts/run.sh", []byte("#!/bin/sh\n"))
	script.Executable = true
	files := []File{
		fileOf("é.md", []byte("text")), fileOf("SKILL.md", bytes.Repeat([]byte("word "), 999)), script,
		fileOf("noise", noise), fileOf("half", half), fileOf("empty", nil),
	}
	var first, second bytes.Buffer
	if err := Write(&first, files); err != nil {
		t.Fatal(err)
	}
	files[0], files[3] = files[3], files[0]
	if err := Write(&second, files); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("the order of the list changes the archive")
	}
	r, err := Open(bytes.NewReader(first.Bytes()), int64(first.Len()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, e := range r.Entries() {
		if e.Name <= last || e.Problem != nil || e.Executable != (e.Name == "scripts/run.sh") {
			t.Errorf("entry %+v after %q", e, last)
		}
		last = e.Name
	}
	got, p := read(first.Bytes(), Limits{})
	if p != nil || len(got) != 6 || got["half"] != string(half) || got["noise"] != string(noise) || got["é.md"] != "text" {
		t.Fatalf("read back: %v, %d files", p, len(got))
	}
}

func TestWriteRefuses(t *testing.T) {
	changing := 0
	for _, c := range []struct {
		name  string
		files []File
		want  Code
	}{
		{"an unsafe name", []File{fileOf("../x", nil)}, PathTraversal},
		{"two names that clash", []File{fileOf("a", nil), fileOf("A", nil)}, PathDuplicate},
		{"a file that is shorter than it was", []File{{Name: "a", Size: 9, Open: fileOf("a", nil).Open}}, SizeMismatch},
		{"a large file that changes meanwhile", []File{{Name: "a", Size: 2 << 20, Open: func() (io.ReadCloser, error) {
			changing++
			data := make([]byte, 2<<20)
			_, _ = rand.NewChaCha8([32]byte{byte(changing)}).Read(data)
			return io.NopCloser(bytes.NewReader(data)), nil
		}}}, ChecksumMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := asProblem(Write(io.Discard, c.files)); p.Code != c.want {
				t.Fatalf("got %v, want %s", p, c.want)
			}
		})
	}
}

func TestFolderReadsLikeAnArchive(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "a", ".git", "deep"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "a", "x.sh"), []byte("hi"), 0o4755))
	must(os.WriteFile(filepath.Join(dir, "a", "con"), nil, 0o644))
	must(os.WriteFile(filepath.Join(dir, "a", ".git", "deep", "f"), nil, 0o644))
	must(os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	must(os.Link(filepath.Join(dir, "a", "x.sh"), filepath.Join(dir, "twin")))
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	f, err := OpenFolder(root, Limits{}, func(name string) bool { return filepath.Base(name) == ".git" })
	must(err)
	want := []struct {
		name    string
		problem Code
	}{{"a", ""}, {"a/.git", ""}, {"a/con", PathReserved}, {"a/x.sh", ""}, {"link", LinkUnsupported}, {"twin", ""}}
	if len(f.Entries()) != len(want) {
		t.Fatalf("entries: %+v", f.Entries())
	}
	for i, w := range want {
		e := f.Entries()[i]
		code := Code("")
		if e.Problem != nil {
			code = e.Problem.Code
		}
		if e.Name != w.name || code != w.problem {
			t.Errorf("entry %d is %s %q, want %s %q", i, e.Name, code, w.name, w.problem)
		}
	}
	if x := f.Entries()[3]; !x.Executable || !x.Linked || x.Size != 2 {
		t.Errorf("x.sh: %+v", x)
	}
	in, err := f.Open(3)
	must(err)
	b, err := io.ReadAll(in)
	in.Close()
	if err != nil || string(b) != "hi" {
		t.Errorf("x.sh: %q, %v", b, err)
	}
	must(os.Remove(filepath.Join(dir, "a", "x.sh")))
	must(os.Symlink("../link", filepath.Join(dir, "a", "x.sh")))
	if _, err := f.Open(3); err == nil {
		t.Error("a file that became a link was opened")
	}
}

func TestFolderRefusesWhatGrewWhileItWasRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("1234"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := OpenFolder(root, Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := os.WriteFile(name, []byte("1234567"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(in); err == nil {
		t.Fatal("the longer file was read")
	}
}
