//go:build !linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxBoot bounds the hand-over, bytes.
const maxBoot = 4 << 20

// stdio is standard input and output as one stream.
type stdio struct {
	io.Reader
	io.Writer
}

// Close ends both directions.
func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// handover reads the owner's half, which comes first on standard input with its
// length before it; the rest of the stream is the wire.
func handover() (socket io.ReadWriteCloser, boot io.ReadCloser, err error) {
	var length uint32
	if err := binary.Read(os.Stdin, binary.BigEndian, &length); err != nil {
		return nil, nil, fmt.Errorf("read the hand-over: %w", err)
	}
	if length > maxBoot {
		return nil, nil, fmt.Errorf("read the hand-over: %d bytes, more than %d", length, maxBoot)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(os.Stdin, text); err != nil {
		return nil, nil, fmt.Errorf("read the hand-over: %w", err)
	}
	return stdio{os.Stdin, os.Stdout}, io.NopCloser(bytes.NewReader(text)), nil
}
