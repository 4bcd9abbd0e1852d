package catalog

// entryKind is what a directory entry is, without following links.
type entryKind uint8

const (
	otherEntry entryKind = iota // FIFO, socket, device
	fileEntry
	dirEntry
	linkEntry
)

// entry is one name in a directory.
type entry struct {
	name string // the part of path behind the last "/"
	path string // relative to the tree, with "/"
	kind entryKind
	size int64  // of a file, when sizes were asked for
	id   fileID // as size; zero where the system gives none
}

// below gives what goes before the names in a directory of a tree.
func below(rel string) string {
	if rel == "." {
		return ""
	}
	return rel + "/"
}

// fileID is the same for two looks at a file whose content has not changed
// between them. The zero value says nothing.
type fileID struct {
	dev, ino           uint64
	size, mtime, ctime int64 // bytes, nanoseconds
}

// maxEntries is how many names of one directory are read, so that memory does
// not grow with it. Thirty times what a bundle may hold is room enough to sort
// the names first.
const maxEntries = 64 << 10
