package archive

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

// File is one file to write.
type File struct {
	Name       string
	Executable bool
	Size       int64                         // bytes that Open gives
	Open       func() (io.ReadCloser, error) // may be called twice and must give the same bytes
}

const (
	// level is the deflate level of everything written. It is fixed so that the
	// same files are the same archive.
	level = 9
	// dosEpoch is 1980-01-01 00:00:00, the first time a zip archive can hold.
	dosDate, dosTime = 1<<5 | 1, 0
	// inMemory: packed bytes up to this length are kept between measuring and
	// writing; a larger file is packed twice.
	inMemory = 1 << 20
	// versionMade is Unix, 2.0; it makes the mode bits count.
	versionMade, versionNeeded = 3<<8 | 20, 20
)

// Write writes files as a zip archive: byte order of the names, no folders, no
// times, no owners, modes 0644 and 0755, deflate unless that makes a file
// larger. The same files give the same bytes in every run of one build. Names
// must pass CheckName and may not clash; files longer than 4 GiB in all are
// refused, as zip64 is never written.
func Write(w io.Writer, files []File) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	if err := checkFiles(files); err != nil {
		return err
	}
	deflate, err := flate.NewWriter(nil, level)
	if err != nil {
		return err
	}
	out := &writer{w: w, deflate: deflate}
	for i := range files {
		if err := out.file(&files[i]); err != nil {
			return fmt.Errorf("pack %s: %w", Shown(files[i].Name), err)
		}
	}
	return out.end(len(files))
}

func checkFiles(files []File) error {
	if len(files) >= 0xffff {
		return over(FileCount, "too many files for an archive", int64(len(files)), 0xfffe, "files")
	}
	entries := make([]Entry, len(files))
	for i, f := range files {
		entries[i] = Entry{Name: f.Name, Problem: CheckName(f.Name)}
	}
	MarkClashes(entries)
	for i := range entries {
		if entries[i].Problem != nil {
			return entries[i].Problem
		}
	}
	return nil
}

type writer struct {
	w         io.Writer
	at        int64
	directory bytes.Buffer
	deflate   *flate.Writer // about 1 MiB, so one for all files
}

// packed is what measuring a file found.
type packed struct {
	method       uint16
	crc          uint32
	size, length int64  // plain and packed
	bytes        []byte // the packed bytes when they are few
}

func (out *writer) file(f *File) error {
	p, err := out.measure(f)
	if err != nil {
		return err
	}
	header := out.at
	if header+p.length > 0xfffffffe-1<<20 {
		return over(CompressedSize, "the archive becomes too large", header+p.length, 0xfffffffe-1<<20, "bytes")
	}
	if err := out.write(localHeader(f.Name, p)); err != nil {
		return err
	}
	if err := out.content(f, p); err != nil {
		return err
	}
	out.directory.Write(centralHeader(f, p, header))
	return nil
}

// measure packs the file once to learn its checksum and lengths, which stand in
// front of the bytes.
func (out *writer) measure(f *File) (packed, error) {
	keep := &kept{}
	p := packed{method: methodDeflate}
	crc := crc32.NewIEEE()
	out.deflate.Reset(keep)
	var err error
	if p.size, err = pour(f, io.MultiWriter(crc, out.deflate)); err != nil {
		return p, err
	}
	if err := out.deflate.Close(); err != nil {
		return p, err
	}
	p.crc, p.length, p.bytes = crc.Sum32(), keep.length, keep.bytes
	if p.length >= p.size {
		p.method, p.length, p.bytes = methodStore, p.size, nil
	}
	return p, nil
}

func pour(f *File, to io.Writer) (int64, error) {
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	n, err := io.Copy(to, in)
	if err == nil && n != f.Size {
		err = fault(SizeMismatch, "the file has %d bytes instead of %d", n, f.Size)
	}
	return n, err
}

// kept counts what goes through and keeps it while it is short.
type kept struct {
	length int64
	bytes  []byte
	long   bool
}

func (k *kept) Write(p []byte) (int, error) {
	k.length += int64(len(p))
	if k.long = k.long || k.length > inMemory; k.long {
		k.bytes = nil
		return len(p), nil
	}
	k.bytes = append(k.bytes, p...)
	return len(p), nil
}

// content writes the bytes, packing a large file again, and proves that they
// are those that were measured.
func (out *writer) content(f *File, p packed) error {
	if p.method == methodDeflate && p.bytes != nil {
		return out.write(p.bytes)
	}
	start := out.at
	crc := crc32.NewIEEE()
	if err := out.again(f, p.method, crc); err != nil {
		return err
	}
	if out.at-start != p.length || crc.Sum32() != p.crc {
		return fault(ChecksumMismatch, "the file changed while it was packed")
	}
	return nil
}

func (out *writer) again(f *File, method uint16, crc io.Writer) error {
	if method == methodStore {
		_, err := pour(f, io.MultiWriter(crc, out))
		return err
	}
	out.deflate.Reset(out)
	if _, err := pour(f, io.MultiWriter(crc, out.deflate)); err != nil {
		return err
	}
	return out.deflate.Close()
}

// Write makes the writer an io.Writer for the packer.
func (out *writer) Write(p []byte) (int, error) {
	n, err := out.w.Write(p)
	out.at += int64(n)
	return n, err
}

func (out *writer) write(p []byte) error {
	_, err := out.Write(p)
	return err
}

func nameFlags(name string) uint16 {
	if isASCII(name) {
		return 0
	}
	return flagUTF8
}

func localHeader(name string, p packed) []byte {
	b := binary.LittleEndian.AppendUint32(nil, sigLocal)
	b = appendShorts(b, versionNeeded, nameFlags(name), p.method, dosTime, dosDate)
	b = appendLongs(b, p.crc, uint32(p.length), uint32(p.size))
	b = appendShorts(b, uint16(len(name)), 0)
	return append(b, name...)
}

func centralHeader(f *File, p packed, header int64) []byte {
	mode := uint32(modeRegular | 0o644)
	if f.Executable {
		mode = modeRegular | 0o755
	}
	b := binary.LittleEndian.AppendUint32(nil, sigCentral)
	b = appendShorts(b, versionMade, versionNeeded, nameFlags(f.Name), p.method, dosTime, dosDate)
	b = appendLongs(b, p.crc, uint32(p.length), uint32(p.size))
	b = appendShorts(b, uint16(len(f.Name)), 0, 0, 0, 0)
	b = appendLongs(b, mode<<16, uint32(header))
	return append(b, f.Name...)
}

func (out *writer) end(count int) error {
	at := out.at
	size := out.directory.Len()
	b := binary.LittleEndian.AppendUint32(out.directory.Bytes(), sigEnd)
	b = appendShorts(b, 0, 0, uint16(count), uint16(count))
	b = appendLongs(b, uint32(size), uint32(at))
	return out.write(appendShorts(b, 0))
}

func appendShorts(b []byte, values ...uint16) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func appendLongs(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}
