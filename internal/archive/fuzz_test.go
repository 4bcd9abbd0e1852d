package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// FuzzReader: what is accepted extracts to the same tree as read by Go's
// archive/zip, by Python's zipfile and by unzip, the last two where they are
// installed; written again it reads back the same.
func FuzzReader(f *testing.F) {
	for _, set := range [][]hazard{nameHazards(), kindHazards(), sizeHazards(), containerHazards()} {
		for _, h := range set {
			f.Add(h.data)
		}
	}
	f.Add(ziptest.Zip(e{Name: "a/"}, e{Name: "a/b.txt", Data: []byte("hello hello hello"), Deflate: true}, e{Name: "é/ü", Data: []byte("x"), Descriptor: true}))
	f.Add(ziptest.Make(ziptest.End{Comment: []byte("0123456789012345678901234567890123456789")}, e{Name: "x", Mode: 0o100755, MadeBy: 3 << 8}))
	python := startPython()
	limits := Limits{EntryBytes: 1 << 20, TotalBytes: 2 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, p := read(data, limits)
		if p != nil {
			return
		}
		sameTree(t, "archive/zip", goTree(t, data), files)
		if tree, ok := python.tree(t, data); ok {
			sameTree(t, "zipfile", tree, files)
		}
		// unzip 6.0 reads names that are marked as UTF-8 as code page 850 when the
		// archive says it was made under DOS; both others read them as UTF-8.
		if tree, ok := unzipTree(t, data); ok && isASCII(names(files)) {
			sameTree(t, "unzip", tree, files)
		}
		again, p := read(rewritten(t, files), limits)
		if p != nil {
			t.Fatalf("written again it is refused: %v", p)
		}
		sameTree(t, "written again", again, files)
	})
}

func sameTree(t *testing.T, who string, other, ours map[string]string) {
	t.Helper()
	if len(other) != len(ours) {
		t.Fatalf("%s reads %d files %q, we %d", who, len(other), names(other), len(ours))
	}
	for name, text := range ours {
		if got, ok := other[name]; !ok || got != text {
			t.Fatalf("%s reads %q as %.40q (%v), we as %.40q", who, name, got, ok, text)
		}
	}
}

func names(m map[string]string) string {
	out := []string{}
	for n := range m {
		out = append(out, n)
	}
	return strings.Join(out, " ")
}

func rewritten(t *testing.T, files map[string]string) []byte {
	t.Helper()
	list := []File{}
	for name, text := range files {
		list = append(list, fileOf(name, []byte(text)))
	}
	var out bytes.Buffer
	if err := Write(&out, list); err != nil {
		t.Fatalf("write again: %v", err)
	}
	return out.Bytes()
}

func goTree(t *testing.T, data []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("archive/zip: %v", err)
	}
	files := map[string]string{}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatalf("archive/zip %q: %v", f.Name, err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatalf("archive/zip %q: %v", f.Name, err)
		}
		files[f.Name] = string(b)
	}
	return files
}

// pythonReader is one Python that reads archive after archive; starting one for
// each input would leave no time for inputs.
type pythonReader struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

const pythonProgram = `
import sys, json, zipfile, io, base64
for line in sys.stdin:
    try:
        z = zipfile.ZipFile(io.BytesIO(base64.b64decode(line)))
        out = {i.filename: base64.b64encode(z.read(i)).decode() for i in z.infolist() if not i.is_dir()}
        print(json.dumps({"files": out}), flush=True)
    except Exception as e:
        print(json.dumps({"error": repr(e)}), flush=True)
`

func startPython() *pythonReader {
	cmd := exec.Command("python3", "-c", pythonProgram)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		return &pythonReader{}
	}
	return &pythonReader{in: in, out: bufio.NewReader(out)}
}

// tree is not ok where there is no Python.
func (p *pythonReader) tree(t *testing.T, data []byte) (map[string]string, bool) {
	t.Helper()
	if p.in == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	coded, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.in, strings.Trim(string(coded), `"`))
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("python: %v", err)
	}
	var answer struct {
		Files map[string][]byte
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Error != "" {
		t.Fatalf("zipfile: %v %s", err, answer.Error)
	}
	files := map[string]string{}
	for name, b := range answer.Files {
		files[name] = string(b)
	}
	return files, true
}

// unzipTree is not ok where there is no unzip.
func unzipTree(t *testing.T, data []byte) (map[string]string, bool) {
	t.Helper()
	if _, err := exec.LookPath("unzip"); err != nil {
		return nil, false
	}
	dir, err := os.MkdirTemp("", "unzip-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, target := filepath.Join(dir, "a.zip"), filepath.Join(dir, "t")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unzip", "-qq", "-o", file, "-d", target)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	// 1 is a warning: unzip gives it for an archive without entries.
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("unzip: %v %s", err, out)
	}
	files := map[string]string{}
	err = filepath.WalkDir(target, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(target, p)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatalf("unzip: %v", err)
	}
	return files, true
}

// FuzzMade makes archives by a recipe instead of mutating their bytes, so that
// most get past the first checks and some lie in one place only.
func FuzzMade(f *testing.F) {
	f.Add([]byte("\x02\x00\x05\x01\x03\x09\x10"))
	f.Add([]byte{3, 1, 1, 200, 7, 2, 2, 100, 5, 9, 9, 4, 4, 1, 6, 0, 31})
	f.Add(bytes.Repeat([]byte{5, 11, 2, 77, 1}, 8))
	python := startPython()
	f.Fuzz(func(t *testing.T, recipe []byte) {
		data := cook(recipe)
		files, p := read(data, Limits{EntryBytes: 1 << 20, TotalBytes: 2 << 20})
		if p != nil {
			return
		}
		sameTree(t, "archive/zip", goTree(t, data), files)
		if tree, ok := python.tree(t, data); ok {
			sameTree(t, "zipfile", tree, files)
		}
		if tree, ok := unzipTree(t, data); ok && isASCII(names(files)) {
			sameTree(t, "unzip", tree, files)
		}
	})
}

// cook reads a recipe: up to six entries, each with a name, a content, a way of
// packing and at most one lie, then at most one lie about the end.
func cook(recipe []byte) []byte {
	next := func(n int) int {
		if len(recipe) == 0 || n == 0 {
			return 0
		}
		v := int(recipe[0]) % n
		recipe = recipe[1:]
		return v
	}
	lie := func() *uint32 { return u32(uint32(next(256) * next(4))) }
	known := []string{"a", "b", "a/b", "a/", "B", "c/d", "c/D", "é", "e\u0301", "SKILL.md", "x/y/z", "..", "con", "a b", "c", "C/"}
	var entries []e
	for range next(7) {
		one := e{Name: known[next(len(known))], Data: bytes.Repeat([]byte("text "), next(200)), MadeBy: 3 << 8}
		one.Deflate, one.Descriptor, one.BareTail = next(2) == 1, next(3) == 1, next(2) == 1
		if strings.HasSuffix(one.Name, "/") {
			one.Data = nil
			one.Deflate = false
		}
		switch next(24) {
		case 1:
			one.Size = lie()
		case 2:
			one.Compressed = lie()
		case 3:
			one.CRC = lie()
		case 4:
			one.LocalName = known[next(len(known))]
		case 5:
			one.Hidden = true
		case 6:
			one.Ghost, one.Offset = true, lie()
		case 7:
			one.Offset = lie()
		case 8:
			one.Pad = bytes.Repeat([]byte("PK\x03\x04"), next(5))
		case 9:
			one.Flags = uint16(1) << next(16)
		case 10:
			one.Mode = uint32(next(16))<<12 | 0o755
		case 11:
			one.Extra = []byte{byte(next(256)), byte(next(256)), byte(next(8)), 0, 1, 2, 3}
		case 12:
			one.DirectoryComment = []byte("PK\x05\x06 and more")
		case 13:
			one.Packed = append(ziptest.Pack(one.Data), make([]byte, next(4))...)
		case 14:
			one.DescriptorSize = lie()
		case 15:
			one.Data = ziptest.Zip(e{Name: "inner", Data: []byte("x")})
		}
		entries = append(entries, one)
	}
	end := ziptest.End{}
	switch next(16) {
	case 1:
		end.Comment = bytes.Repeat([]byte("PK\x05\x06"), next(9))
	case 2:
		end.Prefix = []byte("#!")
	case 3:
		end.Suffix = make([]byte, next(30))
	case 4:
		end.Count = ziptest.U16(uint16(next(9)))
	case 5:
		end.Size = lie()
	case 6:
		end.Offset = lie()
	case 7:
		end.Between = []byte("PK\x06\x07")
	}
	return ziptest.Make(end, entries...)
}

// TestMadeArchives runs many recipes in every test run, without unzip, which
// needs a process for each.
func TestMadeArchives(t *testing.T) {
	python := startPython()
	rng := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 4000 {
		recipe := make([]byte, rng.IntN(60))
		for i := range recipe {
			recipe[i] = byte(rng.Uint32())
		}
		data := cook(recipe)
		files, p := read(data, Limits{})
		if p != nil {
			continue
		}
		accepted++
		sameTree(t, "archive/zip", goTree(t, data), files)
		if tree, ok := python.tree(t, data); ok {
			sameTree(t, "zipfile", tree, files)
		}
	}
	if accepted < 400 {
		t.Errorf("only %d recipes were accepted", accepted)
	}
}
