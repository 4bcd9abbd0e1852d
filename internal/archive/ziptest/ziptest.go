// Package ziptest makes zip archives for tests, honest and hostile ones. Every
// number of every record can be set to something it is not. Only tests import
// it.
package ziptest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// Entry is one entry. What is left zero is filled in truthfully.
type Entry struct {
	Name string
	Data []byte

	Deflate    bool   // pack Data; otherwise it is stored
	Packed     []byte // use these bytes as the packed form of Data (implies Deflate)
	Method     uint16 // declare another method than the one used
	Flags      uint16 // more general purpose bits
	Mode       uint32 // upper half of the external attributes
	MadeBy     uint16 // version made by; 0 is DOS
	Descriptor bool   // zeros in the local header and a data descriptor behind the bytes
	BareTail   bool   // the descriptor has no signature
	Extra      []byte // extra field of both headers

	LocalName  string // another name in the local header
	LocalFlags uint16 // more bits in the local header only
	// Lies, applied to both headers (Local only, Central only) when not nil.
	Size, Compressed, CRC     *uint32
	LocalSize, CentralSize    *uint32
	LocalCRC, CentralCRC      *uint32
	DescriptorSize            *uint32
	Offset                    *uint32 // of the local header, in the directory
	Hidden                    bool    // written, but not in the directory
	Ghost                     bool    // in the directory only
	Pad                       []byte  // bytes between this entry and the next
	DirectoryComment          []byte
	InternalAttrs, DiskNumber uint16
}

// End says how the end of the archive lies.
type End struct {
	Prefix, Suffix []byte
	Comment        []byte
	Count          *uint16
	Disk           uint16
	Size, Offset   *uint32
	Zip64          bool // a zip64 record and locator in front of the end record
	Between        []byte
}

// U32 and U16 give a pointer to a lie.
func U32(v uint32) *uint32 { return &v }

// U16 gives a pointer to a lie about a count.
func U16(v uint16) *uint16 { return &v }

// Zip makes an archive of the entries.
func Zip(entries ...Entry) []byte { return Make(End{}, entries...) }

// Make makes an archive with an end that lies.
func Make(end End, entries ...Entry) []byte {
	var out, directory bytes.Buffer
	out.Write(end.Prefix)
	count := 0
	for _, e := range entries {
		at := uint32(out.Len())
		made := e.build()
		if !e.Ghost {
			out.Write(made.local)
			out.Write(e.Pad)
		}
		if e.Hidden {
			continue
		}
		count++
		directory.Write(e.central(made, pick(at, e.Offset)))
	}
	start := uint32(out.Len())
	out.Write(directory.Bytes())
	out.Write(end.Between)
	if end.Zip64 {
		out.Write(zip64(uint64(count), uint64(directory.Len()), uint64(start)))
	}
	n := uint16(count)
	if end.Count != nil {
		n = *end.Count
	}
	b := le32(nil, 0x06054b50)
	b = le16(b, end.Disk, end.Disk, n, n)
	b = le32(b, pick(uint32(directory.Len()), end.Size), pick(start, end.Offset))
	b = le16(b, uint16(len(end.Comment)))
	out.Write(b)
	out.Write(end.Comment)
	out.Write(end.Suffix)
	return out.Bytes()
}

type built struct {
	local             []byte
	flags, method     uint16
	crc, packed, size uint32
}

func (e *Entry) build() built {
	b := built{flags: e.Flags, crc: crc32.ChecksumIEEE(e.Data), size: uint32(len(e.Data))}
	body := e.Data
	if e.Packed != nil {
		body, b.method = e.Packed, 8
	} else if e.Deflate {
		body, b.method = Pack(e.Data), 8
	}
	if e.Method != 0 {
		b.method = e.Method
	}
	for i := range len(e.Name) {
		if e.Name[i] >= 0x80 {
			b.flags |= 1 << 11
			break
		}
	}
	if e.Descriptor {
		b.flags |= 1 << 3
	}
	b.packed = pick(uint32(len(body)), e.Compressed)
	b.size, b.crc = pick(b.size, e.Size), pick(b.crc, e.CRC)

	name := e.Name
	if e.LocalName != "" {
		name = e.LocalName
	}
	crc, packed, size := pick(b.crc, e.LocalCRC), b.packed, pick(b.size, e.LocalSize)
	if e.Descriptor {
		crc, packed, size = 0, 0, 0
	}
	h := le32(nil, 0x04034b50)
	h = le16(h, 20, b.flags|e.LocalFlags, b.method, 0, 0x21)
	h = le32(h, crc, packed, size)
	h = le16(h, uint16(len(name)), uint16(len(e.Extra)))
	h = append(append(h, name...), e.Extra...)
	h = append(h, body...)
	if e.Descriptor {
		if !e.BareTail {
			h = le32(h, 0x08074b50)
		}
		h = le32(h, b.crc, b.packed, pick(b.size, e.DescriptorSize))
	}
	b.local = h
	return b
}

func (e *Entry) central(b built, at uint32) []byte {
	h := le32(nil, 0x02014b50)
	h = le16(h, e.MadeBy, 20, b.flags, b.method, 0, 0x21)
	h = le32(h, pick(b.crc, e.CentralCRC), b.packed, pick(b.size, e.CentralSize))
	h = le16(h, uint16(len(e.Name)), uint16(len(e.Extra)), uint16(len(e.DirectoryComment)), e.DiskNumber, e.InternalAttrs)
	h = le32(h, e.Mode<<16, at)
	h = append(append(h, e.Name...), e.Extra...)
	return append(h, e.DirectoryComment...)
}

func zip64(count, size, offset uint64) []byte {
	b := le32(nil, 0x06064b50)
	b = le64(b, 44)
	b = le16(b, 45, 45)
	b = le32(b, 0, 0)
	b = le64(b, count, count, size, offset)
	b = le32(b, 0x07064b50, 0)
	b = le64(b, offset+size)
	return le32(b, 1)
}

// Pack is data as a raw deflate stream.
func Pack(data []byte) []byte {
	var b bytes.Buffer
	// The level is a legal one and a bytes.Buffer takes everything.
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

func pick(v uint32, lie *uint32) uint32 {
	if lie != nil {
		return *lie
	}
	return v
}

func le16(b []byte, values ...uint16) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func le32(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func le64(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}
