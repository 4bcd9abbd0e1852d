package archive

// Limits are the most that one archive or folder may hold. A value passes, one
// more fails. A zero field takes the value of Defaults, so the zero Limits is
// safe.
type Limits struct {
	Size       int64 // bytes of the archive itself; looked at before anything else
	Entries    int   // records, folders included; looked at before they are read
	Files      int   // records that are not folders
	EntryBytes int64 // decompressed bytes of one file
	TotalBytes int64 // decompressed bytes of all files that may be read
	Ratio      int64 // decompressed by compressed bytes of one file, rounded up; negative: no such limit
	Segments   int   // parts of a path, the file's own name included
}

// Defaults are the limits of a skill bundle (the outer archive).
//
// Size and TotalBytes: the most a person sends around as one bundle, and what
// a preview can read in about a second. Entries: two full skills. EntryBytes:
// an archive inside the bundle. Segments: eight folders and the file. Ratio:
// none, a skill may hold a large file of zeros.
func Defaults() Limits {
	return Limits{
		Size: 256 << 20, Entries: 32768, Files: 32768,
		EntryBytes: 64 << 20, TotalBytes: 256 << 20, Ratio: -1, Segments: 9,
	}
}

// maxSegments bounds the work that one long name can cause, whatever the
// caller allows: 1,024 bytes could otherwise be 512 folders.
const maxSegments = 64

func (l Limits) filled() Limits {
	d := Defaults()
	l.Size = or(l.Size, d.Size)
	l.Entries = or(l.Entries, d.Entries)
	l.Files = or(l.Files, d.Files)
	l.EntryBytes = or(l.EntryBytes, d.EntryBytes)
	l.TotalBytes = or(l.TotalBytes, d.TotalBytes)
	l.Ratio = or(l.Ratio, d.Ratio)
	l.Segments = min(or(l.Segments, d.Segments), maxSegments)
	return l
}

func or[T int | int64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}
