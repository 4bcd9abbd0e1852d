package archive

import (
	"encoding/binary"
	"io"
)

// Signatures and fixed lengths of the records (APPNOTE 6.3.10, section 4.3).
const (
	sigLocal      = 0x04034b50
	sigCentral    = 0x02014b50
	sigEnd        = 0x06054b50
	sigDescriptor = 0x08074b50
	sigZip64End   = 0x06064b50
	sigZip64Loc   = 0x07064b50

	localLen   = 30
	centralLen = 46
	endLen     = 22
)

// General purpose bits. Everything not in allowedFlags is refused.
const (
	flagEncrypted   = 1 << 0
	flagDescriptor  = 1 << 3
	flagStrong      = 1 << 6
	flagUTF8        = 1 << 11
	flagMaskedNames = 1 << 13
	allowedFlags    = 1<<1 | 1<<2 | flagDescriptor | flagUTF8 // bits 1, 2: deflate level
)

const (
	methodStore   = 0
	methodDeflate = 8
)

// Reader is a zip archive that passed the whole strict pass. It holds names and
// numbers, no content. A Reader may be used by several goroutines when its
// io.ReaderAt may.
type Reader struct {
	source  io.ReaderAt
	size    int64
	entries []Entry
	comment string
}

// Open does the strict pass over an archive of size bytes: end record,
// directory, local headers, tiling, names. It reads headers only, no content,
// and allocates by what it has read, never by what is declared. The error is a
// *Problem about the container, or that of the disk.
func Open(r io.ReaderAt, size int64, limits Limits) (*Reader, error) {
	limits = limits.filled()
	if size > limits.Size {
		return nil, over(CompressedSize, "the archive is too large", size, limits.Size, "bytes")
	}
	end, err := readEnd(r, size)
	if err != nil {
		return nil, err
	}
	if end.count > limits.Entries {
		return nil, over(FileCount, "the archive holds too many entries", int64(end.count), int64(limits.Entries), "entries")
	}
	entries, err := readDirectory(r, end, limits)
	if err != nil {
		return nil, err
	}
	if err := checkLocals(r, entries, end.directory); err != nil {
		return nil, err
	}
	MarkClashes(entries)
	if err := checkTotals(entries, limits); err != nil {
		return nil, err
	}
	return &Reader{source: r, size: size, entries: entries, comment: end.comment}, nil
}

// Entries gives the records in the order of the directory.
func (r *Reader) Entries() []Entry { return r.entries }

// Comment is the archive's comment, unchecked text of somebody else: `git
// archive` puts the commit there.
func (r *Reader) Comment() string { return r.comment }

// checkTotals counts what could be read. Sizes are declared here and enforced
// on every read, so a sum that fits is a promise and one that does not is
// either over the limit or a lie.
func checkTotals(entries []Entry, limits Limits) error {
	files, total := 0, int64(0)
	for i := range entries {
		if entries[i].Folder {
			continue
		}
		files++
		if entries[i].Problem == nil {
			total += entries[i].Size
		}
	}
	if files > limits.Files {
		return over(FileCount, "the archive holds too many files", int64(files), int64(limits.Files), "files")
	}
	if total > limits.TotalBytes {
		return over(UncompressedSize, "the content is too large", total, limits.TotalBytes, "bytes")
	}
	return nil
}

// fields reads little-endian numbers off a record whose length was checked.
type fields struct{ b []byte }

func (f *fields) u16() uint16 {
	v := binary.LittleEndian.Uint16(f.b)
	f.b = f.b[2:]
	return v
}

func (f *fields) u32() uint32 {
	v := binary.LittleEndian.Uint32(f.b)
	f.b = f.b[4:]
	return v
}

func (f *fields) skip(n int) { f.b = f.b[n:] }
