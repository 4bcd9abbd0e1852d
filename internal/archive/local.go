package archive

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// checkLocals reads every local header and proves that entries tile the file:
// the first begins at 0, each begins where the one before ends, the last ends
// at the directory. Overlaps, hidden entries and bytes in between all break
// that. It costs one sort and one pass.
func checkLocals(r io.ReaderAt, entries []Entry, directory int64) error {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(entries[a].header, entries[b].header) })

	at := int64(0)
	w := window{source: r}
	for k, i := range order {
		e := &entries[i]
		if p := meets(e, at); p != nil {
			return p
		}
		next := directory
		if k+1 < len(order) {
			next = entries[order[k+1]].header
		}
		end, err := checkLocal(&w, e, next)
		if err != nil {
			return err
		}
		at = end
	}
	if at != directory {
		return fault(Gap, "%d bytes between the last entry and the directory belong to no entry", directory-at)
	}
	return nil
}

func meets(e *Entry, at int64) *Problem {
	switch {
	case e.header < at:
		return fault(Overlap, "the entry shares bytes with another one").at(e.rawName)
	case e.header > at:
		return fault(Gap, "%d bytes before the entry belong to no entry", e.header-at).at(e.rawName)
	}
	return nil
}

// checkLocal compares one local header with the directory and gives the offset
// after the entry. next is where the following header begins.
func checkLocal(w *window, e *Entry, next int64) (int64, error) {
	fixed, err := w.at(e.header, localLen)
	if err != nil {
		return 0, cutOff(e, err)
	}
	f := fields{fixed}
	if f.u32() != sigLocal {
		return 0, fault(Inconsistent, "no entry begins where the directory says").at(e.rawName)
	}
	f.skip(2)
	flags, method := f.u16(), f.u16()
	f.skip(4)
	crc, compressed, size := f.u32(), f.u32(), f.u32()
	nameLen, extraLen := int(f.u16()), int(f.u16())
	if flags != e.flags || method != e.method {
		return 0, fault(Inconsistent, "flags or method differ between the entry and the directory").at(e.rawName)
	}
	if compressed == 0xffffffff || size == 0xffffffff {
		return 0, zip64().at(e.rawName)
	}
	if !agrees(e, int64(crc), int64(e.crc)) || !agrees(e, int64(compressed), e.Compressed) || !agrees(e, int64(size), e.Size) {
		return 0, fault(Inconsistent, "checksum or sizes differ between the entry and the directory").at(e.rawName)
	}
	variable, err := w.at(e.header+localLen, nameLen+extraLen)
	if err != nil {
		return 0, cutOff(e, err)
	}
	if string(variable[:nameLen]) != e.rawName {
		return 0, fault(Inconsistent, "the entry is named %s in its own header", Shown(string(variable[:nameLen]))).at(e.rawName)
	}
	if p := checkExtra(variable[nameLen:], e.rawName); p != nil {
		return 0, p
	}
	e.data = e.header + localLen + int64(nameLen+extraLen)
	return checkTrailer(w, e, next)
}

// agrees: a number of the local header is the directory's, or zero where a data
// descriptor follows. Info-ZIP writing to a pipe leaves two of the three zero.
func agrees(e *Entry, local, central int64) bool {
	return local == central || local == 0 && e.flags&flagDescriptor != 0
}

// checkTrailer gives the end of the entry. With bit 3 a data descriptor lies
// between the bytes and the next header, with or without its signature; its
// length follows from that place and its numbers must be the directory's.
func checkTrailer(w *window, e *Entry, next int64) (int64, error) {
	end := e.data + e.Compressed
	if end > next {
		return 0, fault(Overlap, "the entry reaches into what follows it").at(e.rawName)
	}
	if e.flags&flagDescriptor == 0 {
		return end, nil
	}
	n := next - end
	if n != 12 && n != 16 {
		return 0, fault(descriptorMismatch, "%d bytes stand where a data descriptor of 12 or 16 belongs", n).at(e.rawName)
	}
	b, err := w.at(end, int(n))
	if err != nil {
		return 0, cutOff(e, err)
	}
	if n == 16 {
		if binary.LittleEndian.Uint32(b) != sigDescriptor {
			return 0, fault(descriptorMismatch, "the data descriptor has no signature").at(e.rawName)
		}
		b = b[4:]
	}
	f := fields{b}
	if f.u32() != e.crc || int64(f.u32()) != e.Compressed || int64(f.u32()) != e.Size {
		return 0, fault(descriptorMismatch, "the data descriptor disagrees with the directory").at(e.rawName)
	}
	return next, nil
}

func cutOff(e *Entry, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fault(Inconsistent, "the entry reaches past the end of the file").at(e.rawName)
	}
	return fmt.Errorf("read the header of %s: %w", Shown(e.rawName), err)
}

// window reads small pieces in rising order. Headers of small entries lie close
// together, so one system call answers for many.
type window struct {
	source io.ReaderAt
	buffer *bufio.Reader
	start  int64 // offset of the next byte in buffer
	out    []byte
}

// near is how far a jump may be skipped over instead of asked for anew.
const near = 16 << 10

// at gives n bytes at offset; they stay valid until the next call.
func (w *window) at(offset int64, n int) ([]byte, error) {
	ahead := offset - w.start
	if w.buffer == nil || ahead < 0 || ahead > near {
		section := io.NewSectionReader(w.source, offset, 1<<62-offset)
		if w.buffer == nil {
			w.buffer = bufio.NewReaderSize(section, 32<<10)
		} else {
			w.buffer.Reset(section)
		}
		w.start, ahead = offset, 0
	}
	if _, err := w.buffer.Discard(int(ahead)); err != nil {
		return nil, err
	}
	if cap(w.out) < n {
		w.out = make([]byte, n)
	}
	w.out = w.out[:n]
	read, err := io.ReadFull(w.buffer, w.out)
	w.start += ahead + int64(read)
	if err != nil {
		w.buffer = nil
		return nil, err
	}
	return w.out, nil
}
