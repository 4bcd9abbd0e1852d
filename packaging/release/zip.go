package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// settleZip writes an archive anew with its names in order and the time of the
// source: the tool that packs a bundle puts the hour of packing on each file.
func (r *release) settleZip(path string) error {
	old, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer old.Close()
	files := slices.Clone(old.File)
	slices.SortFunc(files, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: time.Unix(r.epoch, 0).UTC()}
		header.SetMode(f.Mode())
		to, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		from, err := f.Open()
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return err
		}
		if err := from.Close(); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
