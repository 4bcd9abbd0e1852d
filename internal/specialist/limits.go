package specialist

import (
	"errors"
	"strings"

	"skill-mcp/internal/archive"
)

// The limits of a package. A value passes, one more fails.
const (
	// MaxPackageBytes is looked at before anything else.
	MaxPackageBytes = 50 << 20
	// MaxContentBytes is the most decompressed bytes of all files.
	MaxContentBytes = 200 << 20
	// MaxFiles does not count folders.
	MaxFiles = 2000
	// MaxFileBytes is the most decompressed bytes of one file.
	MaxFileBytes = 25 << 20
	// MaxRatio is decompressed by compressed bytes of one file, rounded up.
	// Deflate cannot pass 1,032, so only near-pure repetition trips it.
	MaxRatio = 1000
	// MaxSegments counts the parts of a path, the file's own name included.
	MaxSegments = 32
	// maxEntries bounds what is read of a directory, folders included.
	maxEntries = 32768
	// maxDocument bounds manifest.json and specialist.json: the longest prompt
	// with every character escaped takes 400 KB.
	maxDocument = 1 << 20
)

// readLimits are given to the archive reader. Counts and sums are left to
// checkTotals, so that they are reported beside everything else.
func readLimits() archive.Limits {
	return archive.Limits{
		Size: MaxPackageBytes, Entries: maxEntries, Files: maxEntries, EntryBytes: MaxFileBytes,
		TotalBytes: maxEntries * MaxFileBytes, Ratio: MaxRatio, Segments: MaxSegments,
	}
}

// archiveCodes are the reader's codes that have a word of their own here. All
// others are package.archive-invalid.
var archiveCodes = map[archive.Code]bool{
	archive.CompressedSize: true, archive.UncompressedSize: true, archive.FileCount: true, archive.FileSize: true,
	archive.CompressionRatio: true, archive.PathDepth: true, archive.PathAbsolute: true, archive.PathDrive: true,
	archive.PathBackslash: true, archive.PathTraversal: true, archive.PathDuplicate: true,
	archive.EncryptionUnsupported: true, archive.CompressionUnsupported: true, archive.LinkUnsupported: true,
}

const codeArchiveInvalid = "package.archive-invalid"

// fromProblem is a fault of the archive as a finding. Of the reader's detail
// only what does not repeat a name is kept.
func fromProblem(p *archive.Problem, place string, folder bool) Diagnostic {
	d := Diagnostic{Level: LevelError, Code: codeArchiveInvalid, Path: place, Message: p.Detail, Actual: p.Actual, Limit: p.Limit, Unit: p.Unit}
	switch {
	case p.Code == archive.LinkUnsupported && folder:
		d.Code = "package.symbolic-link-forbidden"
	case p.Code == archive.SpecialFile:
		d.Code = "package.archive-link-unsupported"
	case archiveCodes[p.Code]:
		d.Code = "package.archive-" + string(p.Code)
	}
	if p.UnsafeName() || p.Code == archive.PathDuplicate || d.Message == "" {
		d.Message = problemWords(p)
	}
	return d
}

// problemWords says what is wrong with a name without the name.
func problemWords(p *archive.Problem) string {
	switch p.Code {
	case archive.PathDuplicate:
		return "two entries are one file on a system that ignores case and normalisation"
	case archive.PathInvalid:
		return "the name holds characters that no file may have"
	case archive.PathReserved:
		return "the name belongs to a device"
	}
	return "the name is not a plain path below the package (" + strings.TrimPrefix(string(p.Code), "path-") + ")"
}

// fromError is an error of the reader as a finding.
func fromError(err error, place string) Diagnostic {
	var p *archive.Problem
	if errors.As(err, &p) {
		return fromProblem(p, place, false)
	}
	return Diagnostic{Level: LevelError, Code: codeArchiveInvalid, Path: place, Message: "it cannot be read"}
}

// checkTotals counts files and declared bytes. It says whether the content may
// be read: a declaration that is too small makes reading fail later. Too many
// files are read all the same, since their bytes are bounded.
func checkTotals(entries []archive.Entry, f *findings) bool {
	files, total := int64(0), int64(0)
	for i := range entries {
		if entries[i].Folder {
			continue
		}
		files++
		if entries[i].Size <= MaxFileBytes {
			total += entries[i].Size
		}
	}
	if files > MaxFiles {
		f.add(Diagnostic{Level: LevelError, Code: "package.archive-file-count-exceeded", Message: "the package holds too many files", Actual: files, Limit: MaxFiles, Unit: "files"})
	}
	if total > MaxContentBytes {
		f.add(Diagnostic{Level: LevelError, Code: "package.archive-uncompressed-size-exceeded", Message: "the content is too large", Actual: total, Limit: MaxContentBytes, Unit: "bytes"})
		return false
	}
	return true
}
