package archive

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// directoryBuffer holds one record with its extra fields and comment as it
// goes by; the directory itself is never held as a whole.
const directoryBuffer = 64 << 10

// readDirectory reads exactly end.count records that fill exactly
// end.directorySize bytes.
func readDirectory(r io.ReaderAt, end endRecord, limits Limits) ([]Entry, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, end.directory, end.directorySize), directoryBuffer)
	// The directory was seen to lie in the file, so this is memory for what is
	// there: fewer entries than 46 of its bytes each.
	entries := make([]Entry, 0, min(int64(end.count), end.directorySize/centralLen))
	used := int64(0)
	var scratch []byte
	for range end.count {
		e, n, err := readCentral(in, limits, &scratch)
		if err != nil {
			return nil, err
		}
		used += n
		entries = append(entries, e)
	}
	if used != end.directorySize {
		return nil, fault(Inconsistent, "the directory holds %d bytes more than its entries", end.directorySize-used)
	}
	return entries, nil
}

// readCentral reads one record; scratch is used again for the next.
func readCentral(in *bufio.Reader, limits Limits, scratch *[]byte) (Entry, int64, error) {
	var fixed [centralLen]byte
	if _, err := io.ReadFull(in, fixed[:]); err != nil {
		return Entry{}, 0, shortDirectory(err)
	}
	if binary.LittleEndian.Uint32(fixed[:]) != sigCentral {
		return Entry{}, 0, fault(Inconsistent, "the directory holds something that is not an entry")
	}
	f := fields{fixed[4:]}
	f.skip(4) // made by, needed: nothing is decided by them
	e := Entry{flags: f.u16(), method: f.u16()}
	f.skip(4) // time and date: never restored
	e.crc = f.u32()
	compressed, size := f.u32(), f.u32()
	nameLen, extraLen, commentLen := int(f.u16()), int(f.u16()), int(f.u16())
	disk := f.u16()
	f.skip(2) // internal attributes
	mode := f.u32() >> 16
	header := f.u32()
	if compressed == 0xffffffff || size == 0xffffffff || header == 0xffffffff || disk == 0xffff {
		return Entry{}, 0, zip64()
	}
	if disk != 0 {
		return Entry{}, 0, fault(multiDisk, "an entry is on another disk")
	}
	e.Compressed, e.Size, e.header = int64(compressed), int64(size), int64(header)

	if *scratch = (*scratch)[:0]; cap(*scratch) < nameLen+extraLen {
		*scratch = make([]byte, 0, nameLen+extraLen)
	}
	variable := (*scratch)[:nameLen+extraLen]
	if _, err := io.ReadFull(in, variable); err != nil {
		return Entry{}, 0, shortDirectory(err)
	}
	if _, err := in.Discard(commentLen); err != nil {
		return Entry{}, 0, shortDirectory(err)
	}
	e.rawName = string(variable[:nameLen])
	if p := checkExtra(variable[nameLen:], e.rawName); p != nil {
		return Entry{}, 0, p
	}
	judge(&e, mode, limits)
	return e, int64(centralLen + nameLen + extraLen + commentLen), nil
}

func shortDirectory(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fault(Inconsistent, "the directory holds fewer entries than the end record says")
	}
	return fmt.Errorf("read the directory: %w", err)
}

// checkExtra refuses the two extra fields that change what an entry is: the
// Unicode path 0x7075 gives it another name in some readers, zip64 0x0001 other
// sizes. Everything else (times, owners) is left unread.
func checkExtra(extra []byte, name string) *Problem {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return fault(Inconsistent, "an extra field is longer than its place").at(name)
		}
		switch id {
		case 0x7075:
			return fault(NameOverride, "the entry carries a second name (Unicode path field 0x7075): pack it again with UTF-8 names").at(name)
		case 0x0001:
			return zip64().at(name)
		}
		extra = extra[4+n:]
	}
	return nil
}

// Kinds of file in the upper half of the external attributes.
const (
	modeType    = 0o170000
	modeRegular = 0o100000
	modeFolder  = 0o040000
	modeLink    = 0o120000
)

// judge fills in what callers see of an entry and its first problem. The mode
// bits are looked at whatever system made the entry: some readers hide a link
// because a DOS tool is said to have written it.
func judge(e *Entry, mode uint32, limits Limits) {
	e.Name, e.Folder = strings.CutSuffix(e.rawName, "/")
	e.Executable = !e.Folder && mode&0o100 != 0
	if e.Problem = tooDeep(e.Name, e.Folder, limits); e.Problem != nil {
		return
	}
	if e.Problem = judgeName(e); e.Problem != nil {
		return
	}
	p := judgeKind(e, mode)
	if p == nil {
		p = judgeSize(e, limits)
	}
	if p != nil {
		e.Problem = p.at(e.rawName)
	}
}

func judgeName(e *Entry) *Problem {
	if p := CheckName(e.Name); p != nil {
		p.Name = Shown(e.rawName)
		return p
	}
	if e.flags&flagUTF8 == 0 && !isASCII(e.Name) {
		return fault(PathInvalid, "the name is not ASCII and not marked as UTF-8: readers disagree about it").at(e.rawName)
	}
	return nil
}

func judgeKind(e *Entry, mode uint32) *Problem {
	kind := mode & modeType
	switch {
	case e.flags&(flagEncrypted|flagStrong|flagMaskedNames) != 0:
		return fault(EncryptionUnsupported, "the entry is encrypted")
	case kind == modeLink:
		return fault(LinkUnsupported, "the entry is a symbolic link")
	case e.flags&^allowedFlags != 0:
		return fault(FlagUnsupported, "the entry has the unknown flags %#04x", e.flags&^allowedFlags)
	case kind != 0 && kind != modeRegular && kind != modeFolder:
		return fault(SpecialFile, "the entry is neither a file nor a folder (mode %#o)", mode)
	case kind == modeFolder && !e.Folder, kind == modeRegular && e.Folder:
		return fault(SpecialFile, "the name and the mode %#o disagree about file and folder", mode)
	case e.method != methodStore && e.method != methodDeflate:
		return fault(CompressionUnsupported, "the entry is packed by method %d; only stored (0) and deflate (8) are read", e.method)
	case e.method == methodStore && e.Size != e.Compressed:
		return fault(SizeMismatch, "a stored entry declares two sizes, %d and %d bytes", e.Size, e.Compressed)
	case e.Folder && (e.Size != 0 || e.Compressed != 0):
		return fault(FolderWithData, "a folder holds %d bytes", max(e.Size, e.Compressed))
	}
	return nil
}

// tooDeep comes before the careful look at a name: a path with many parts costs
// much and is not used anyway. What leads out of the folder is named first.
func tooDeep(name string, folder bool, limits Limits) *Problem {
	n, limit := strings.Count(name, "/")+1, limits.Segments
	if folder {
		limit = maxSegments // folders count for nothing by themselves
	}
	if n <= limit {
		return nil
	}
	if p := checkWhole(name); p != nil {
		return p.at(name)
	}
	wrapped := "/" + name + "/"
	for _, part := range []string{"//", "/./", "/../"} {
		if strings.Contains(wrapped, part) {
			return fault(PathTraversal, "the name holds the part %q", strings.Trim(part, "/")).at(name)
		}
	}
	return over(PathDepth, "the path is too deep", int64(n), int64(limit), "segments").at(name)
}

func judgeSize(e *Entry, limits Limits) *Problem {
	if e.Size > limits.EntryBytes {
		return over(FileSize, "the file is too large", e.Size, limits.EntryBytes, "bytes")
	}
	if limits.Ratio > 0 && e.Size > 0 {
		if ratio := (e.Size + max(e.Compressed, 1) - 1) / max(e.Compressed, 1); ratio > limits.Ratio {
			return over(CompressionRatio, "the file is packed too densely", ratio, limits.Ratio, "ratio")
		}
	}
	return nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
