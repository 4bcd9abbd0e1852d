package pack

import "skill-mcp/internal/archive"

// The budgets of an import. A value passes, one more fails.
const (
	// MaxFiles is the most files in one skill; the app's own two do not count.
	MaxFiles = 16384
	// MaxFileBytes is the most decompressed bytes of one file.
	MaxFileBytes = 50 << 20
	// MaxSkillBytes is the most decompressed bytes of one skill.
	MaxSkillBytes = 128 << 20
	// MaxPreviewText is the most SKILL.md text that one preview carries.
	MaxPreviewText = 4 << 20
	// MaxFolders is how many folders may stand above a file, counted from the
	// root of the archive it sits in.
	MaxFolders = 8
	// MaxRequests is the most listings and downloads of one look at GitHub.
	MaxRequests = 512
	// MaxNestedBytes is the most bytes of an archive inside a bundle.
	MaxNestedBytes = 64 << 20
	// MaxBundleBytes is the most bytes of a bundle, and of what its own entries
	// hold decompressed.
	MaxBundleBytes = 256 << 20
	// MaxSkills is the most skills that are taken from one bundle.
	MaxSkills = 256
	// MaxEntries is the most entries of a bundle.
	MaxEntries = 32768

	// maxNestedEntries and maxNestedTotal are shared by all archives inside one
	// bundle, so that many small ones cannot cost what one large one may not.
	maxNestedEntries = 4 * MaxEntries
	maxNestedTotal   = MaxBundleBytes
	// maxRootDepth: a skill's folder is the bundle itself or at most this many
	// folders down.
	maxRootDepth = 2
)

// outerLimits: an entry may be an archive of 64 MiB; plain files are held to 50
// MiB by their skill.
func outerLimits() archive.Limits {
	return archive.Limits{
		Size: MaxBundleBytes, Entries: MaxEntries, Files: MaxEntries,
		EntryBytes: MaxNestedBytes, TotalBytes: MaxBundleBytes, Ratio: -1, Segments: MaxFolders + 1,
	}
}

// nestedLimits: bytes and entries are what earlier archives left over.
func nestedLimits(bytes int64, entries int) archive.Limits {
	return archive.Limits{
		Size: MaxNestedBytes, Entries: min(MaxEntries, entries), Files: min(MaxEntries, entries),
		EntryBytes: MaxFileBytes, TotalBytes: bytes, Ratio: -1, Segments: MaxFolders + 1,
	}
}
