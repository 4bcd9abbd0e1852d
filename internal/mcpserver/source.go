package mcpserver

import (
	"context"
	"encoding/json"
)

// Skill is one served skill as the surface needs it: a snapshot of the scan.
type Skill struct {
	Name        string
	Description *string // nil: none, or not a string
	WhenToUse   *string
	Source      string // the configured root it was found under
	Root        int    // index of that root
	Dir         string // below the root's real path, "." for the root itself
	Body        string // after the frontmatter, verbatim, at most 256 KiB of file
	Truncated   bool   // SKILL.md is longer than what was read
	Files       []File // the manifest, by byte order of the path
	Scripts     []Script
	Egress      []string        // declared hosts
	Frontmatter json.RawMessage // the whole block as a JSON object
	NotPortable string          // why it is not in skills/list, "" when it is
}

// File is one file of the manifest.
type File struct {
	Path string `json:"path"` // below the skill, with slashes
	Size int64  `json:"size"` // bytes, when it was scanned
}

// Script is one declared script.
type Script struct {
	Path        string
	Interpreter string
	TimeoutMs   int64
	Env         []string // declared names
}

// Problem is one thing that was not served, as skill_list reports it.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Content is what was read of a file.
type Content struct {
	Data      []byte // at most the cap that was asked for
	Size      int64  // the file's size: of stat, or what could be read when that is more
	Truncated bool   // more than the cap can be read
}

// Digest is a skill's content at one moment.
type Digest struct {
	SHA256 string       // lower-case hex over the bundle (the contract, 0.19)
	Files  []FileDigest // by byte order of the path
}

// FileDigest is one file of a [Digest].
type FileDigest struct {
	Path   string
	Size   int64
	SHA256 string // lower-case hex
}

// Catalog is one scan of the roots. It never changes; files are read from disk
// at every call. Errors of Stat, Read and Locate are words for the caller.
type Catalog interface {
	// Skills are the served skills, in list order.
	Skills() []*Skill
	// Problems are in the order of the contract, without grants.
	Problems() []Problem
	// Stat gives the size of a regular file of a skill.
	Stat(s *Skill, path string) (int64, error)
	// Read gives at most max bytes of a regular file of a skill.
	Read(s *Skill, path string, max int64) (Content, error)
	// Digest reads the whole skill.
	Digest(ctx context.Context, s *Skill) (Digest, error)
	// FileDigest is the lower-case hex SHA-256 of one whole regular file,
	// which need not be in the manifest (a link inside the skill).
	FileDigest(s *Skill, path string) (string, error)
}
