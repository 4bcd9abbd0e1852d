package archive

import (
	"bytes"
	"encoding/binary"
	"io"
)

// endRecord is what the end of central directory record says, checked against
// the place where it stands.
type endRecord struct {
	count         int   // records in the directory
	directory     int64 // offset of the directory
	directorySize int64
	comment       string
}

// readEnd finds the one end record: the last signature in the file, whose
// comment reaches exactly to the end of the file. Readers that search forwards,
// backwards or only at the end then see the same record.
func readEnd(r io.ReaderAt, size int64) (endRecord, error) {
	tail, err := readTail(r, size)
	if err != nil {
		return endRecord{}, err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 {
		return endRecord{}, notAZip(r, size)
	}
	record := tail[at:]
	if len(record) < endLen {
		return endRecord{}, fault(NotAZip, "the archive is cut off inside its end record")
	}
	comment := record[endLen:]
	switch declared := int(binary.LittleEndian.Uint16(record[20:])); {
	case declared > len(comment):
		return endRecord{}, fault(NotAZip, "the archive is cut off inside its comment")
	case declared < len(comment):
		return endRecord{}, trailing(comment[declared:])
	}
	if holdsSignature(comment) {
		return endRecord{}, fault(Inconsistent, "the comment holds a zip record")
	}
	if at >= 20 && binary.LittleEndian.Uint32(tail[at-20:]) == sigZip64Loc {
		return endRecord{}, zip64()
	}
	return parseEnd(record[:endLen], size-int64(len(record)), string(comment))
}

// readTail gives the last bytes in which an end record can begin, and the
// length of a zip64 locator before it.
func readTail(r io.ReaderAt, size int64) ([]byte, error) {
	tail := make([]byte, min(size, endLen+1<<16-1+20))
	if _, err := io.ReadFull(io.NewSectionReader(r, size-int64(len(tail)), int64(len(tail))), tail); err != nil {
		return nil, fault(UnreadableArchive, "read the end of the archive: %v", err)
	}
	return tail, nil
}

func parseEnd(record []byte, at int64, comment string) (endRecord, error) {
	f := fields{record}
	f.skip(4)
	disk, directoryDisk := f.u16(), f.u16()
	here, all := f.u16(), f.u16()
	size, offset := f.u32(), f.u32()
	if here == 0xffff || all == 0xffff || size == 0xffffffff || offset == 0xffffffff {
		return endRecord{}, zip64()
	}
	if disk != 0 || directoryDisk != 0 || here != all {
		return endRecord{}, fault(multiDisk, "the archive says it is one of several disks")
	}
	e := endRecord{count: int(all), directory: int64(offset), directorySize: int64(size), comment: comment}
	if e.directory+e.directorySize != at {
		return endRecord{}, fault(Inconsistent, "the directory does not end where the end record begins (bytes before the archive, or a second end record)")
	}
	return e, nil
}

func zip64() *Problem {
	return fault(Zip64Unsupported, "zip64 archives are not read: pack it again without zip64")
}

func trailing(tail []byte) *Problem {
	if bytes.HasPrefix(tail, []byte("MCPB_SIG_V1")) {
		return fault(TrailingData, "a signature of an .mcpb bundle follows the end of the archive: remove it (mcpb unsign) first")
	}
	return fault(TrailingData, "%d bytes follow the end of the archive", len(tail))
}

func holdsSignature(comment []byte) bool {
	for _, sig := range []string{"PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07", "PK\x07\x08"} {
		if bytes.Contains(comment, []byte(sig)) {
			return true
		}
	}
	return false
}

// notAZip says what the file is instead, for the commonest mistakes.
func notAZip(r io.ReaderAt, size int64) *Problem {
	head := make([]byte, 262)
	n, _ := r.ReadAt(head[:min(size, int64(len(head)))], 0)
	head = head[:n]
	switch {
	case size == 0:
		return fault(NotAZip, "not a zip archive: the file is empty")
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return fault(NotAZip, "not a zip archive: this is a gzip file (tar.gz is not read, pack it as zip)")
	case len(head) == 262 && bytes.Equal(head[257:], []byte("ustar")):
		return fault(NotAZip, "not a zip archive: this is a tar file (pack it as zip)")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return fault(NotAZip, "not a whole zip archive: its end is missing (a download that broke off?)")
	}
	return fault(NotAZip, "not a zip archive: it has no end record")
}
