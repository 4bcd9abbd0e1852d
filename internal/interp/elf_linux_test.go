package interp

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestLibrariesAreWhatTheLoaderTakes compares with the loader's own account.
func TestLibrariesAreWhatTheLoaderTakes(t *testing.T) {
	for _, name := range []string{"node", "bash", "true"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			t.Fatal(err)
		}
		got := libraries(path, nil)
		told, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := regexp.MustCompile(`(?m)(/\S+) \(0x`).FindAllSubmatch(told, -1)
		if len(lines) == 0 {
			t.Fatalf("ldd says nothing of %s", path)
		}
		for _, l := range lines {
			if !slices.Contains(got, string(l[1])) {
				t.Errorf("%s: the loader takes %s, which is not in %v", name, l[1], got)
			}
		}
		for _, p := range got {
			if info, err := os.Stat(p); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: %s is no file", name, p)
			}
		}
	}
}

func TestAStaticProgramNeedsNothing(t *testing.T) {
	src := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(src, []byte("package main\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "static")
	build := exec.Command("go", "build", "-o", bin, src)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := libraries(bin, nil); got != nil {
		t.Error(got)
	}
	if got := libraries("/etc/passwd", nil); got != nil {
		t.Error(got)
	}
}

func FuzzReadELF(f *testing.F) {
	head, err := os.ReadFile("/bin/true")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head)
	f.Add(head[:200])
	f.Add([]byte("\x7fELF\x02\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		e, err := readELF(path)
		if err != nil && len(e.needed) > 0 {
			t.Fatal("an error beside an answer")
		}
		if len(e.needed)+len(e.runpath) > 64<<10/16 {
			t.Fatalf("%d names out of 64 KiB", len(e.needed))
		}
	})
}

func FuzzParseCache(f *testing.F) {
	b := append([]byte("glibc-ld.so.cache1.1"), make([]byte, 28+24)...)
	binary.NativeEndian.PutUint32(b[20:], 1)
	binary.NativeEndian.PutUint32(b[48+4:], uint32(len(b)))
	binary.NativeEndian.PutUint32(b[48+8:], uint32(len(b)+2))
	f.Add(append(b, "a\x00/lib/a\x00"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, paths := range parseCache(b) {
			for _, p := range paths {
				if !bytes.Contains(b, []byte(p)) || !bytes.Contains(b, []byte(name)) {
					t.Fatalf("%q %q are not in the index", name, p)
				}
			}
		}
	})
}
