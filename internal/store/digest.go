package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// digestOf is a sha256 over a file, or a folder with the names, rights and
// bytes of all in it. It tells the staged form of a target from the old one.
func digestOf(root *os.Root, name string) (string, error) {
	h := sha256.New()
	if err := digestInto(h, root, name, ""); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestInto(h io.Writer, root *os.Root, name, shown string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00", shown, info.Mode().Type()|info.Mode()&0o100, fileSize(info))
	if info.Mode().IsRegular() {
		return pourFile(h, root, name)
	}
	if !info.IsDir() {
		return nil
	}
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, child := range names {
		if err := digestInto(h, root, path.Join(name, child), path.Join(shown, child)); err != nil {
			return err
		}
	}
	return nil
}

func fileSize(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

func pourFile(h io.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, f)
	return err
}
