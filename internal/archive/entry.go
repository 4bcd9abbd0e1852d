package archive

import "io"

// Entry is one record of an archive or one file of a folder.
type Entry struct {
	// Name is the path, slash separated, without a slash at the end. It is
	// checked by CheckName unless Problem says the name itself is at fault.
	Name string
	// Folder: the entry is a folder; it has no bytes.
	Folder bool
	// Executable is the owner's execute bit and the only right that is kept.
	Executable bool
	// Size is the decompressed length in bytes. Reading gives exactly this many
	// bytes or an error.
	Size int64
	// Compressed is the length inside the archive; Size for a folder's file.
	Compressed int64
	// Linked: a folder's file that has more than one name on its disk.
	Linked bool
	// Problem is why this entry must not be used, or nil.
	Problem *Problem

	flags, method uint16
	crc           uint32
	header, data  int64  // offsets of the local header and of the bytes
	rawName       string // as stored, with its slash
}

// Tree is what Reader and Folder have in common: a list of entries and their
// bytes. Indexes are those of Entries.
type Tree interface {
	// Entries gives every entry, usable or not. The slice is the tree's own.
	Entries() []Entry
	// Open gives the bytes of entry i as a stream. The stream ends with io.EOF
	// only when length and checksum are right; any other end is a *Problem or
	// the error of the disk. Precondition: Entries()[i].Problem is nil and it is
	// not a folder.
	Open(i int) (io.ReadCloser, error)
}
