package archive

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// read opens an archive and reads every entry; it gives the content by name and
// the first problem, whether of the container, of an entry or of its bytes.
func read(data []byte, limits Limits) (map[string]string, *Problem) {
	r, err := Open(bytes.NewReader(data), int64(len(data)), limits)
	if err != nil {
		return nil, asProblem(err)
	}
	files := map[string]string{}
	for i, e := range r.Entries() {
		if e.Problem != nil {
			return nil, e.Problem
		}
		if e.Folder {
			continue
		}
		in, err := r.Open(i)
		if err != nil {
			return nil, asProblem(err)
		}
		b, err := io.ReadAll(in)
		in.Close()
		if err != nil {
			return nil, asProblem(err)
		}
		files[e.Name] = string(b)
	}
	return files, nil
}

func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return &Problem{Code: "other", Detail: err.Error()}
}

type e = ziptest.Entry

func named(names ...string) []byte {
	var list []e
	for _, n := range names {
		list = append(list, e{Name: n, Data: []byte("x")})
	}
	return ziptest.Zip(list...)
}

type hazard struct {
	name string
	data []byte
	want Code // "" is accepted
}

var (
	u32   = ziptest.U32
	zeros = make([]byte, 1<<20)
)

func nameHazards() []hazard {
	return []hazard{
		{"1 zip slip", named("../evil"), PathTraversal},
		{"1 dots inside", named("a/../../b"), PathTraversal},
		{"1 a dot", named("./c"), PathTraversal},
		{"1 an empty part", named("d//e"), PathTraversal},
		{"1 only dots", named(".."), PathTraversal},
		{"1 a folder of dots", named("../"), PathTraversal},
		{"2 absolute", named("/etc/x"), PathAbsolute},
		{"3 backslash", named(`a\..\..\x`), PathBackslash},
		{"3 backslash twin", named(`a\b`, "a/b"), PathBackslash},
		{"4 drive", named("C:/x"), PathDrive},
		{"4 drive without a slash", named("D:x"), PathDrive},
		{"4 share", named("//srv/x"), PathAbsolute},
		{"4 share with backslashes", named(`\\srv\x`), PathBackslash},
		{"10 exact duplicate", named("a", "a"), PathDuplicate},
		{"11 case duplicate", named("A.md", "a.md"), PathDuplicate},
		{"11 case duplicate of folders", named("A/x", "b", "a/y"), PathDuplicate},
		{"11 case duplicate of a folder entry", ziptest.Zip(e{Name: "A/x"}, e{Name: "a/"}), PathDuplicate},
		{"12 Unicode duplicate", named("caf\u00e9", "cafe\u0301"), PathDuplicate},
		{"12 Unicode duplicate by folding", named("\u00df", "SS"), PathDuplicate},
		{"13 file and folder", named("a", "a/b"), PathDuplicate},
		{"13 file and deep folder", named("x/a", "x/a/b/c"), PathDuplicate},
		{"13 folder by another case", named("A", "a/b"), PathDuplicate},
		{"14 NUL", named("a.md\x00.png"), PathInvalid},
		{"15 CON", named("CON"), PathReserved},
		{"15 nul.txt", named("nul.txt"), PathReserved},
		{"15 COM1.tar.gz", named("COM1.tar.gz"), PathReserved},
		{"15 aux with a blank", named("aux .md"), PathReserved},
		{"15 superscript", named("COM\u00b9"), PathReserved},
		{"15 as a folder", named("x/lpt9/y"), PathReserved},
		{"15 CONIN$", named("conin$"), PathReserved},
		{"16 stream", named("SKILL.md:x"), PathInvalid},
		{"16 trailing dot", named("SKILL.md."), PathInvalid},
		{"16 trailing blank", named("a "), PathInvalid},
		{"35 long name", named(strings.Repeat("n", 256)), PathInvalid},
		{"35 long path", named(strings.Repeat("nnnnnnn/", 128) + "x"), PathInvalid},
		{"35 nine folders", named("1/2/3/4/5/6/7/8/9/f"), PathDepth},
		{"35 eight folders", named("1/2/3/4/5/6/7/8/f"), ""},
		{"37 escape", named("a\x1b[31m"), PathInvalid},
		{"37 newline", named("a\nb"), PathInvalid},
		{"37 bidi", named("a\u202eb"), PathInvalid},
		{"37 bad UTF-8", named("a\xff"), PathInvalid},
		{"an empty name", named(""), PathInvalid},
		{"a name not marked as UTF-8", bytes.ReplaceAll(named("caf\u00e9"), []byte{0, 8}, []byte{0, 0}), PathInvalid},
		{"a name marked as UTF-8", named("caf\u00e9/\u4e2d\u6587"), ""},
	}
}

func kindHazards() []hazard {
	dosLink := e{Name: "l", Data: []byte("/etc/passwd"), Mode: 0o120777, MadeBy: 0}
	link := e{Name: "l", Data: []byte("/etc/passwd"), Mode: 0o120777, MadeBy: 3 << 8}
	return []hazard{
		{"5 symlink", ziptest.Zip(link), LinkUnsupported},
		{"5 symlink under DOS", ziptest.Zip(dosLink), LinkUnsupported},
		{"6 through a link", ziptest.Zip(e{Name: "d", Data: []byte("/tmp"), Mode: 0o120777}, e{Name: "d/x"}), LinkUnsupported},
		{"9 FIFO", ziptest.Zip(e{Name: "f", Mode: 0o010644}), SpecialFile},
		{"9 device", ziptest.Zip(e{Name: "f", Mode: 0o020644}), SpecialFile},
		{"9 socket", ziptest.Zip(e{Name: "f", Mode: 0o140644}), SpecialFile},
		{"a folder's mode on a file", ziptest.Zip(e{Name: "f", Mode: 0o040755}), SpecialFile},
		{"a file's mode on a folder", ziptest.Zip(e{Name: "f/", Mode: 0o100644}), SpecialFile},
		{"24 encrypted", ziptest.Zip(e{Name: "f", Data: []byte("x"), Flags: 1}), EncryptionUnsupported},
		{"24 strongly encrypted", ziptest.Zip(e{Name: "f", Data: []byte("x"), Flags: 1 << 6}), EncryptionUnsupported},
		{"24 masked headers", ziptest.Zip(e{Name: "f", Data: []byte("x"), Flags: 1 << 13}), EncryptionUnsupported},
		{"an unknown flag", ziptest.Zip(e{Name: "f", Data: []byte("x"), Flags: 1 << 5}), FlagUnsupported},
		{"25 bzip2", ziptest.Zip(e{Name: "f", Data: []byte("x"), Method: 12}), CompressionUnsupported},
		{"25 lzma", ziptest.Zip(e{Name: "f", Data: []byte("x"), Method: 14}), CompressionUnsupported},
		{"33 setuid is read, not kept", ziptest.Zip(e{Name: "f", Data: []byte("x"), Mode: 0o104755}), ""},
		{"data on a folder", ziptest.Zip(e{Name: "f/", Data: []byte("x")}), FolderWithData},
		{"an honest folder", ziptest.Zip(e{Name: "f/", Mode: 0o040755}, e{Name: "f/x"}), ""},
	}
}

func sizeHazards() []hazard {
	return []hazard{
		{"18 declares less", ziptest.Zip(e{Name: "f", Data: zeros, Deflate: true, Size: u32(10)}), SizeMismatch},
		{"18 declares more", ziptest.Zip(e{Name: "f", Data: zeros, Deflate: true, Size: u32(2 << 20)}), SizeMismatch},
		{"18 central lies alone", ziptest.Zip(e{Name: "f", Data: zeros, Deflate: true, CentralSize: u32(9)}), Inconsistent},
		{"18 local lies alone", ziptest.Zip(e{Name: "f", Data: zeros, Deflate: true, LocalSize: u32(9)}), Inconsistent},
		{"18 stored with two sizes", ziptest.Zip(e{Name: "f", Data: []byte("xyz"), Size: u32(2)}), SizeMismatch},
		{"19 one body twice", ziptest.Zip(e{Name: "f", Data: []byte("x")}, e{Name: "g", Data: []byte("x"), Ghost: true, Offset: u32(0)}), Overlap},
		{"20 quoted overlap", quoted(), Overlap},
		{"26 data descriptor", ziptest.Zip(e{Name: "f", Data: zeros, Deflate: true, Descriptor: true}, e{Name: "g"}), ""},
		{"26 data descriptor, empty", ziptest.Zip(e{Name: "f", Deflate: true, Descriptor: true}), ""},
		{"26 data descriptor, stored", ziptest.Zip(e{Name: "f", Data: []byte("x"), Descriptor: true}), ""},
		{"26 data descriptor, bare", ziptest.Zip(e{Name: "f", Data: []byte("x"), Deflate: true, Descriptor: true, BareTail: true}), ""},
		{"26 descriptor disagrees", ziptest.Zip(e{Name: "f", Data: []byte("x"), Deflate: true, Descriptor: true, DescriptorSize: u32(7)}), Inconsistent},
		{"26 descriptor missing", ziptest.Zip(e{Name: "f", Data: []byte("x"), Flags: 8, LocalSize: u32(0), LocalCRC: u32(0)}), Inconsistent},
		{"27 wrong CRC", ziptest.Zip(e{Name: "f", Data: []byte("x"), CRC: u32(1)}), ChecksumMismatch},
		{"27 CRC on empty", ziptest.Zip(e{Name: "f", CRC: u32(1)}), ChecksumMismatch},
		{"27 CRC in one header", ziptest.Zip(e{Name: "f", Data: []byte("x"), CentralCRC: u32(1)}), Inconsistent},
		{"bytes after the deflate stream", ziptest.Zip(e{Name: "f", Data: []byte("x"), Packed: append(ziptest.Pack([]byte("x")), 0, 0)}), BadDeflate},
		{"a broken deflate stream", ziptest.Zip(e{Name: "f", Data: []byte("x"), Packed: []byte{7, 7, 7}}), BadDeflate},
		{"a cut deflate stream", ziptest.Zip(e{Name: "f", Data: zeros, Packed: ziptest.Pack(zeros)[:9]}), BadDeflate},
		{"a size past the end", ziptest.Zip(e{Name: "f", Data: []byte("x"), Deflate: true, Compressed: u32(1 << 30)}), Overlap},
	}
}

// quoted is a stored entry whose bytes are a whole entry with a record of its
// own.
func quoted() []byte {
	inner := ziptest.Zip(e{Name: "in", Data: []byte("y")})
	local := inner[:30+2+1]
	return ziptest.Zip(e{Name: "out", Data: local}, e{Name: "in", Data: []byte("y"), Ghost: true, Offset: u32(30 + 3)})
}

func containerHazards() []hazard {
	one := e{Name: "f", Data: []byte("x")}
	end := ziptest.Zip()
	return []hazard{
		{"7 tar", append(append(make([]byte, 257), "ustar"...), make([]byte, 800)...), NotAZip},
		{"7 tar.gz", []byte("\x1f\x8b\x08 something"), NotAZip},
		{"text", []byte("hello, this is no archive at all"), NotAZip},
		{"nothing", nil, NotAZip},
		{"an empty archive", end, ""},
		{"21 huge count", ziptest.Make(ziptest.End{Count: ziptest.U16(65534)}, one), FileCount},
		{"21 count one more", ziptest.Make(ziptest.End{Count: ziptest.U16(2)}, one), Inconsistent},
		{"21 count one less", ziptest.Make(ziptest.End{Count: ziptest.U16(0)}, one), Inconsistent},
		{"22 zip64", ziptest.Make(ziptest.End{Zip64: true}, one), Zip64Unsupported},
		{"22 zip64 saturated", ziptest.Make(ziptest.End{Zip64: true, Count: ziptest.U16(0xffff), Size: u32(0xffffffff), Offset: u32(0xffffffff)}, one), Zip64Unsupported},
		{"22 saturated without a record", ziptest.Make(ziptest.End{Offset: u32(0xffffffff)}, one), Zip64Unsupported},
		{"22 zip64 extra field", ziptest.Zip(e{Name: "f", Extra: []byte{1, 0, 0, 0}}), Zip64Unsupported},
		{"28 another local name", ziptest.Zip(e{Name: "aa", LocalName: "bb", Data: []byte("x")}), Inconsistent},
		{"28 other local flags", ziptest.Zip(e{Name: "aa", LocalFlags: 2, Data: []byte("x")}), Inconsistent},
		{"29 hidden entry", ziptest.Zip(one, e{Name: "g", Hidden: true}, e{Name: "h"}), Gap},
		{"29 hidden first entry", ziptest.Zip(e{Name: "g", Hidden: true}, one), Gap},
		{"29 hidden last entry", ziptest.Zip(one, e{Name: "g", Hidden: true}), Gap},
		{"bytes between entries", ziptest.Zip(e{Name: "f", Pad: []byte("pad")}, e{Name: "g"}), Gap},
		{"30 bytes after", ziptest.Make(ziptest.End{Suffix: []byte("MCPB_SIG_V1 and so on")}, one), TrailingData},
		{"30 a byte after", ziptest.Make(ziptest.End{Suffix: []byte{0}}, one), TrailingData},
		{"30 bytes before", ziptest.Make(ziptest.End{Prefix: []byte("#!/bin/sh\n")}, one), Gap},
		{"30 bytes before, offsets not told", append([]byte("#!/bin/sh\n"), ziptest.Zip(one)...), Inconsistent},
		{"31 two archives", append(ziptest.Zip(one), ziptest.Zip(one)...), Inconsistent},
		{"31 end record in the comment", ziptest.Make(ziptest.End{Comment: end}, one), Inconsistent},
		{"31 end record early in the comment", ziptest.Make(ziptest.End{Comment: append(bytes.Clone(end), 'x')}, one), TrailingData},
		{"31 a local header in the comment", ziptest.Make(ziptest.End{Comment: []byte("PK\x03\x04")}, one), Inconsistent},
		{"31 directory of size 0", ziptest.Make(ziptest.End{Size: u32(0)}, one), Inconsistent},
		{"several disks", ziptest.Make(ziptest.End{Disk: 1}, one), Inconsistent},
		{"an entry on another disk", ziptest.Zip(e{Name: "f", DiskNumber: 1}), Inconsistent},
		{"32 Unicode path field", ziptest.Zip(e{Name: "f", Extra: []byte("\x75\x70\x06\x00\x01\x00\x00\x00\x00g")}), NameOverride},
		{"32 an owner field is no name", ziptest.Zip(e{Name: "f", Extra: []byte("\x75\x78\x01\x00\x01")}), ""},
		{"an extra field too long", ziptest.Zip(e{Name: "f", Extra: []byte("\x75\x78\x09\x00\x01")}), Inconsistent},
		{"a plain comment", ziptest.Make(ziptest.End{Comment: []byte("hello")}, one), ""},
		{"a cut archive", ziptest.Zip(one)[:40], NotAZip},
		{"an offset outside", ziptest.Zip(e{Name: "f", Offset: u32(1 << 20)}), Gap},
		{"bytes in the directory", ziptest.Make(ziptest.End{Between: []byte("between"), Size: u32(46 + 1 + 7)}, one), Inconsistent},
	}
}

func TestHazards(t *testing.T) {
	for _, set := range [][]hazard{nameHazards(), kindHazards(), sizeHazards(), containerHazards()} {
		for _, h := range set {
			t.Run(h.name, func(t *testing.T) {
				_, p := read(h.data, Limits{})
				got := Code("")
				if p != nil {
					got = p.Code
					for _, r := range p.Error() {
						if forbiddenRune(r) && !strings.ContainsRune(`":\<>|?*`, r) {
							t.Errorf("the message shows %U", r)
						}
					}
				}
				if got != h.want {
					t.Fatalf("got %q (%v), want %q", got, p, h.want)
				}
			})
		}
	}
}

func TestBothSidesOfAClashAreMarked(t *testing.T) {
	data := named("A/x", "A/y", "a/z", "q", "Q/r", "fine")
	r, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	marked := map[string]bool{}
	for _, e := range r.Entries() {
		marked[e.Name] = e.Problem != nil
	}
	if !(marked["A/x"] || marked["A/y"]) || !marked["a/z"] || !marked["q"] || !marked["Q/r"] || marked["fine"] {
		t.Fatalf("marked: %v", marked)
	}
}

func TestLimitsAreExact(t *testing.T) {
	three := ziptest.Zip(e{Name: "a/"}, e{Name: "a/b", Data: make([]byte, 100), Deflate: true}, e{Name: "c", Data: []byte("1234")})
	packed := int64(len(ziptest.Pack(make([]byte, 100))))
	ratio := (100 + packed - 1) / packed
	for _, c := range []struct {
		name   string
		ok, no Limits
		want   Code
	}{
		{"size", Limits{Size: int64(len(three))}, Limits{Size: int64(len(three)) - 1}, CompressedSize},
		{"entries", Limits{Entries: 3}, Limits{Entries: 2}, FileCount},
		{"files do not count folders", Limits{Files: 2}, Limits{Files: 1}, FileCount},
		{"one file", Limits{EntryBytes: 100}, Limits{EntryBytes: 99}, FileSize},
		{"all files", Limits{TotalBytes: 104}, Limits{TotalBytes: 103}, UncompressedSize},
		{"ratio", Limits{Ratio: ratio}, Limits{Ratio: ratio - 1}, CompressionRatio},
		{"segments", Limits{Segments: 2}, Limits{Segments: 1}, PathDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, p := read(three, c.ok); p != nil {
				t.Errorf("at the limit: %v", p)
			}
			if _, p := read(three, c.no); p == nil || p.Code != c.want {
				t.Errorf("one more: %v, want %s", p, c.want)
			}
		})
	}
}
