package archive

import (
	"bufio"
	"compress/flate"
	"hash/crc32"
	"io"
	"sync"
)

// Open gives the bytes of entry i. Nothing is taken from the header but what
// has to be met: reading stops one byte past the declared size, and the stream
// must end exactly where the entry does.
func (r *Reader) Open(i int) (io.ReadCloser, error) {
	e := &r.entries[i]
	if e.Problem != nil {
		return nil, e.Problem
	}
	section := io.NewSectionReader(r.source, e.data, e.Compressed)
	s := &stream{entry: e}
	if e.method == methodStore {
		s.plain = section
		return s, nil
	}
	s.packed = takeInflater(section)
	s.plain = s.packed.flate
	return s, nil
}

// Section gives the place of a stored entry inside the archive, for reading an
// archive in an archive without a copy. Its checksum is not checked by that.
func (r *Reader) Section(i int) (*io.SectionReader, bool) {
	e := &r.entries[i]
	if e.Problem != nil || e.method != methodStore {
		return nil, false
	}
	return io.NewSectionReader(r.source, e.data, e.Compressed), true
}

// stream counts and checks what one entry gives.
type stream struct {
	entry  *Entry
	plain  io.Reader
	packed *inflater // nil for a stored entry
	count  int64
	crc    uint32
	done   error
}

func (s *stream) Read(p []byte) (int, error) {
	if s.done != nil {
		return 0, s.done
	}
	if room := s.entry.Size - s.count + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := s.plain.Read(p)
	s.count += int64(n)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, p[:n])
	if s.count > s.entry.Size {
		s.done = over(SizeMismatch, "the entry holds more than it declares", s.count, s.entry.Size, "bytes").at(s.entry.rawName)
		return 0, s.done
	}
	if err != nil {
		s.done = s.finish(err)
		return n, s.done
	}
	return n, nil
}

func (s *stream) finish(err error) error {
	_, corrupt := err.(flate.CorruptInputError)
	switch {
	case err == io.ErrUnexpectedEOF, corrupt:
		return fault(BadDeflate, "the compressed bytes are broken: %v", err).at(s.entry.rawName)
	case err != io.EOF:
		return err
	case s.count != s.entry.Size:
		return over(SizeMismatch, "the entry holds less than it declares", s.count, s.entry.Size, "bytes").at(s.entry.rawName)
	case s.crc != s.entry.crc:
		return fault(ChecksumMismatch, "the checksum is wrong").at(s.entry.rawName)
	case s.packed != nil && !s.packed.exhausted():
		return fault(BadDeflate, "bytes follow the end of the compressed stream").at(s.entry.rawName)
	}
	return io.EOF
}

// Close gives the decompressor back. It never fails.
func (s *stream) Close() error {
	if s.packed != nil {
		inflaters.Put(s.packed)
		s.packed, s.plain = nil, nil
	}
	if s.done == nil {
		s.done = io.ErrClosedPipe
	}
	return nil
}

// inflater is one decompressor with its buffer, about 80 KiB; a skill may have
// 16,384 files, so they are used again.
type inflater struct {
	in    *bufio.Reader
	flate io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	in := bufio.NewReaderSize(nil, 32<<10)
	return &inflater{in: in, flate: flate.NewReader(in)}
}}

func takeInflater(r io.Reader) *inflater {
	f := inflaters.Get().(*inflater)
	f.in.Reset(r)
	// flate's own reader always has Reset and it never fails.
	_ = f.flate.(flate.Resetter).Reset(f.in, nil)
	return f
}

// exhausted: the decoder reads byte by byte from in, so what is left there lies
// after its last block.
func (f *inflater) exhausted() bool {
	_, err := f.in.ReadByte()
	return err == io.EOF
}
