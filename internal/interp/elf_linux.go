package interp

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
)

// ExeSuffix ends the file name of a program.
const ExeSuffix = ""

// ldCache is the dynamic loader's index of libraries.
const ldCache = "/etc/ld.so.cache"

// loadedByName are libraries that the C library opens by name when they are
// needed: names of users, names of hosts, the end of a thread.
var loadedByName = []string{"libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2", "libgcc_s.so.1"}

// libraries returns the files a program needs to start: its loader, its
// libraries and theirs, each as looked up and as it really is. A static
// program or one that cannot be read has none.
func libraries(program string) []string {
	w := &walk{cache: readCache(), seen: map[string]bool{}}
	w.file(program)
	if len(w.out) == 0 {
		return nil
	}
	for _, name := range loadedByName {
		w.library(name, nil)
	}
	return append(w.out, ldCache)
}

// walk is the closure over needed libraries.
type walk struct {
	cache   map[string][]string // soname -> paths
	seen    map[string]bool
	class   elf.Class
	machine elf.Machine
	out     []string
}

// file follows what one file needs and says whether it fits the program.
func (w *walk) file(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if w.machine == elf.EM_NONE {
		w.class, w.machine = f.Class, f.Machine
		w.loader(f)
	}
	if f.Class != w.class || f.Machine != w.machine {
		return false
	}
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		list, _ := f.DynString(tag) // absent in most files
		for _, l := range list {
			dirs = append(dirs, strings.Split(strings.ReplaceAll(l, "$ORIGIN", filepath.Dir(path)), ":")...)
		}
	}
	needed, _ := f.ImportedLibraries() // none in a static file
	for _, name := range needed {
		w.library(name, dirs)
	}
	return true
}

// loader adds the program interpreter named in the file.
func (w *walk) loader(f *elf.File) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err == nil {
			w.add(string(bytes.TrimRight(b, "\x00")))
		}
	}
}

// library looks a name up where the loader would and follows every fit: which
// of several the loader takes depends on the processor.
func (w *walk) library(name string, dirs []string) {
	if w.seen[name] {
		return
	}
	w.seen[name] = true
	var paths []string
	for _, d := range dirs {
		paths = append(paths, filepath.Join(d, name))
	}
	paths = append(paths, w.cache[name]...)
	for _, d := range []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"} {
		paths = append(paths, filepath.Join(d, name))
	}
	for _, p := range paths {
		if !w.seen[p] && w.file(p) {
			w.add(p)
		}
	}
}

// add appends a file under its name and its real name.
func (w *walk) add(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	for _, p := range []string{path, real} {
		if !w.seen[p] {
			w.seen[p] = true
			w.out = append(w.out, p)
		}
	}
}

// readCache reads glibc's index (format glibc-ld.so.cache1.1: a header of 48
// bytes, entries of 24 holding flags, key and value offsets). On musl there is none.
func readCache() map[string][]string {
	const header, entry, magic = 48, 24, "glibc-ld.so.cache1.1"
	out := map[string][]string{}
	b, err := os.ReadFile(ldCache)
	if err != nil || len(b) < header || !bytes.HasPrefix(b, []byte(magic)) {
		return out
	}
	text := func(off uint32) string {
		if int64(off) >= int64(len(b)) {
			return ""
		}
		s, _, _ := bytes.Cut(b[off:], []byte{0})
		return string(s)
	}
	n := int(binary.NativeEndian.Uint32(b[len(magic):]))
	for i := 0; i < n && header+(i+1)*entry <= len(b); i++ {
		e := b[header+i*entry:]
		name, path := text(binary.NativeEndian.Uint32(e[4:])), text(binary.NativeEndian.Uint32(e[8:]))
		out[name] = append(out[name], path)
	}
	return out
}
