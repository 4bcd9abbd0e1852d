package interp

import (
	"bytes"
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

// libraries returns the files that a program and its extensions need to start:
// the loader, their libraries and those of these, each as looked up and as it
// really is. A static program or one that cannot be read has none.
func libraries(program string, extensions []string) []string {
	w := &walk{cache: readCache(), seen: map[string]bool{}}
	w.file(program)
	if len(w.out) == 0 {
		return nil
	}
	for _, e := range extensions {
		w.file(e)
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
	machine uint16 // the program's, 0 = not known yet
	out     []string
}

// file follows what one file needs and says whether it fits the program.
func (w *walk) file(path string) bool {
	e, err := readELF(path)
	if err != nil || (w.machine != 0 && e.machine != w.machine) {
		return false
	}
	if w.machine == 0 {
		w.machine = e.machine
		if e.loader != "" {
			w.add(e.loader)
		}
	}
	var dirs []string
	for _, list := range e.runpath {
		list = strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path)).Replace(list)
		dirs = append(dirs, strings.Split(list, ":")...)
	}
	for _, name := range e.needed {
		w.library(name, dirs)
	}
	return true
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
	if w.try(append(paths, w.cache[name]...)) {
		return
	}
	paths = nil
	for _, d := range []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"} {
		paths = append(paths, filepath.Join(d, name))
	}
	w.try(paths)
}

// try follows those of the paths that fit and reports whether there was one.
func (w *walk) try(paths []string) (found bool) {
	for _, p := range paths {
		if w.file(p) {
			w.add(p)
			found = true
		}
	}
	return found
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

// readCache reads glibc's index. On musl there is none.
func readCache() map[string][]string {
	b, err := os.ReadFile(ldCache)
	if err != nil {
		return nil
	}
	return parseCache(b)
}

// parseCache takes the paths of each name out of an index of the format
// glibc-ld.so.cache1.1: a header of 48 bytes that begins with magic and count,
// entries of 24 bytes with flags and the places of name and path.
func parseCache(b []byte) map[string][]string {
	const header, entry, magic = 48, 24, "glibc-ld.so.cache1.1"
	out := map[string][]string{}
	if len(b) < header || !bytes.HasPrefix(b, []byte(magic)) {
		return out
	}
	text := func(at uint32) string {
		if int64(at) >= int64(len(b)) {
			return ""
		}
		s, _, _ := bytes.Cut(b[at:], []byte{0})
		return string(s)
	}
	n := int64(binary.NativeEndian.Uint32(b[len(magic):]))
	for i := int64(0); i < n && header+(i+1)*entry <= int64(len(b)); i++ {
		e := b[header+i*entry:]
		name, path := text(binary.NativeEndian.Uint32(e[4:])), text(binary.NativeEndian.Uint32(e[8:]))
		out[name] = append(out[name], path)
	}
	return out
}
