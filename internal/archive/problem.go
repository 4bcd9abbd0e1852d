package archive

import "fmt"

// Code names one kind of fault. The words are part of the product's interface:
// callers put their own prefix in front of them.
type Code string

// Faults of the container. Open returns them as an error.
const (
	NotAZip            Code = "not-a-zip"
	Zip64Unsupported   Code = "zip64-unsupported"
	TrailingData       Code = "trailing-data"
	Overlap            Code = "overlap"
	Gap                Code = "gap"
	Inconsistent       Code = "inconsistent"
	NameOverride       Code = "name-override"
	CompressedSize     Code = "compressed-size-exceeded"
	UncompressedSize   Code = "uncompressed-size-exceeded"
	FileCount          Code = "file-count-exceeded"
	UnreadableArchive  Code = "unreadable"
	multiDisk               = Inconsistent
	descriptorMismatch      = Inconsistent
)

// Faults of one entry. They stand in Entry.Problem.
const (
	FileSize               Code = "file-size-exceeded"
	CompressionRatio       Code = "compression-ratio-exceeded"
	PathDepth              Code = "path-depth-exceeded"
	PathAbsolute           Code = "path-absolute"
	PathDrive              Code = "path-drive"
	PathBackslash          Code = "path-backslash"
	PathTraversal          Code = "path-traversal"
	PathInvalid            Code = "path-invalid"
	PathReserved           Code = "path-reserved"
	PathDuplicate          Code = "path-duplicate"
	EncryptionUnsupported  Code = "encryption-unsupported"
	CompressionUnsupported Code = "compression-unsupported"
	LinkUnsupported        Code = "link-unsupported"
	SpecialFile            Code = "special-file"
	FlagUnsupported        Code = "flag-unsupported"
	FolderWithData         Code = "folder-with-data"
)

// Faults that only show when the bytes of an entry are read.
const (
	ChecksumMismatch Code = "checksum-mismatch"
	SizeMismatch     Code = "size-mismatch"
	BadDeflate       Code = "deflate-invalid"
)

// Problem is one fault: what it is, where, and the limit it broke if it broke
// one. It is an error. Name is already escaped and safe to print.
type Problem struct {
	Code   Code   `json:"code"`
	Name   string `json:"name,omitempty"`   // Shown(raw name), empty for the whole archive
	Detail string `json:"detail,omitempty"` // a clause for people, lower case
	Actual int64  `json:"actual,omitempty"` // what was met, in Unit
	Limit  int64  `json:"limit,omitempty"`  // the most that is taken, in Unit
	Unit   string `json:"unit,omitempty"`   // "bytes", "files", "entries", "segments", "ratio"
}

// Error is one line: the entry, what is wrong, and the figures.
func (p *Problem) Error() string {
	s := p.Detail
	if s == "" {
		s = string(p.Code)
	}
	if p.Name != "" {
		s = fmt.Sprintf("entry %s: %s", p.Name, s)
	}
	if p.Unit != "" {
		s = fmt.Sprintf("%s (%d, limit %d %s)", s, p.Actual, p.Limit, p.Unit)
	}
	return s
}

// UnsafePath says whether the fault is a name that would lead out of the
// folder it is unpacked into. Such a name belongs to no folder for certain.
func (p *Problem) UnsafePath() bool {
	switch p.Code {
	case PathAbsolute, PathDrive, PathBackslash, PathTraversal:
		return true
	}
	return false
}

// UnsafeName says whether the fault is the name itself, in any way.
func (p *Problem) UnsafeName() bool {
	return p.UnsafePath() || p.Code == PathInvalid || p.Code == PathReserved
}

func fault(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func over(code Code, detail string, actual, limit int64, unit string) *Problem {
	return &Problem{Code: code, Detail: detail, Actual: actual, Limit: limit, Unit: unit}
}

func (p *Problem) at(rawName string) *Problem {
	q := *p
	q.Name = Shown(rawName)
	return &q
}
