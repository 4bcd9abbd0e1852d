package interp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
)

// elfFile is what the dynamic loader would be told by one file.
type elfFile struct {
	machine uint16
	loader  string // the program interpreter, "" in a library or static program
	needed  []string
	runpath []string
}

// errNotELF means that the file is no 64-bit little-endian ELF file, which all
// machines are that the fence is built for.
var errNotELF = errors.New("not a 64-bit little-endian ELF file")

// segment is a piece of the file and where it is in memory.
type segment struct{ kind, offset, address, size uint64 }

// readELF reads headers and dynamic section and only the strings these name:
// node's table of names has megabytes, and reading it took 30 ms a start.
// Layout: ELF-64 object file format, version 1.5.
func readELF(path string) (elfFile, error) {
	const headerSize, entrySize, maxEntries = 64, 56, 128
	f, err := os.Open(path)
	if err != nil {
		return elfFile{}, err
	}
	defer f.Close()
	h := make([]byte, headerSize)
	if _, err := f.ReadAt(h, 0); err != nil || !bytes.HasPrefix(h, []byte("\x7fELF\x02\x01")) {
		return elfFile{}, errNotELF
	}
	le := binary.LittleEndian
	e := elfFile{machine: le.Uint16(h[18:])}
	n := int(le.Uint16(h[56:]))
	if le.Uint16(h[54:]) != entrySize || n > maxEntries {
		return elfFile{}, errNotELF
	}
	table := make([]byte, n*entrySize)
	if _, err := f.ReadAt(table, int64(le.Uint64(h[32:]))); err != nil {
		return elfFile{}, errNotELF
	}
	var all []segment
	for ; len(table) > 0; table = table[entrySize:] {
		all = append(all, segment{uint64(le.Uint32(table)), le.Uint64(table[8:]), le.Uint64(table[16:]), le.Uint64(table[32:])})
	}
	for _, s := range all {
		switch s.kind {
		case 2: // PT_DYNAMIC
			e.dynamic(f, s, all)
		case 3: // PT_INTERP
			e.loader = text(f, s.offset)
		}
	}
	return e, nil
}

// dynamic reads the names out of the dynamic section.
func (e *elfFile) dynamic(f *os.File, s segment, all []segment) {
	const entrySize, maxSize = 16, 64 << 10
	b := make([]byte, min(s.size, maxSize))
	n, _ := f.ReadAt(b, int64(s.offset)) // what is there counts
	var needed, runpath []uint64
	names := uint64(0) // where the strings are in the file
	for b = b[:n]; len(b) >= entrySize; b = b[entrySize:] {
		value := binary.LittleEndian.Uint64(b[8:])
		switch binary.LittleEndian.Uint64(b) {
		case 1: // DT_NEEDED
			needed = append(needed, value)
		case 5: // DT_STRTAB, an address
			for _, l := range all {
				if l.kind == 1 && value >= l.address && value-l.address < l.size { // PT_LOAD
					names = l.offset + value - l.address
				}
			}
		case 15, 29: // DT_RPATH, DT_RUNPATH
			runpath = append(runpath, value)
		}
	}
	for _, at := range needed {
		e.needed = append(e.needed, text(f, names+at))
	}
	for _, at := range runpath {
		e.runpath = append(e.runpath, text(f, names+at))
	}
}

// text reads a string that ends with a zero byte, "" when there is none.
func text(f *os.File, offset uint64) string {
	b := make([]byte, 4096) // longest path
	n, _ := f.ReadAt(b, int64(offset))
	s, _, ended := bytes.Cut(b[:n], []byte{0})
	if !ended {
		return ""
	}
	return string(s)
}
