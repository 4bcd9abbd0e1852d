package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// contentHash is the hash of a skill's content: sha256 over its files in byte
// order of the path, each as path NUL bytes NUL.
type contentHash struct{ h hash.Hash }

func newContentHash() contentHash { return contentHash{sha256.New()} }

// file begins one file and gives where its bytes go; end ends it.
func (c contentHash) file(path string) io.Writer {
	io.WriteString(c.h, path)
	c.h.Write([]byte{0})
	return c.h
}

func (c contentHash) end() { c.h.Write([]byte{0}) }

func (c contentHash) sum() string { return hex.EncodeToString(c.h.Sum(nil)) }
