package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
)

// ErrProtocol is wrapped by every error that means the other side broke the
// protocol, as opposed to a stream that ended.
var ErrProtocol = errors.New("the wall's protocol was broken")

// headerLen is kind byte and length.
const headerLen = 5

// Conn is one end of the stream. Send may be called from several goroutines,
// Receive from one. It bounds every frame before it reads or keeps it.
type Conn struct {
	side Side
	rw   io.ReadWriter

	send sync.Mutex // one frame at a time, in the order of its steps
	mu   sync.Mutex // guards talk
	talk Talk
}

// NewConn makes the end of side over a stream.
func NewConn(side Side, rw io.ReadWriter) *Conn { return &Conn{side: side, rw: rw} }

// other is the side frames come from.
func (c *Conn) other() Side {
	if c.side == Front {
		return Monitor
	}
	return Front
}

// step records a frame in the conversation.
func (c *Conn) step(from Side, k Kind, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.talk.Step(from, k, n)
}

// Send writes one frame. A frame that the table does not permit is not sent.
func (c *Conn) Send(k Kind, payload []byte) error {
	c.send.Lock()
	defer c.send.Unlock()
	if err := c.step(c.side, k, len(payload)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	frame := make([]byte, headerLen, headerLen+len(payload))
	frame[0] = byte(k)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(payload)))
	if _, err := c.rw.Write(append(frame, payload...)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// SendValue writes one control frame holding v.
func (c *Conn) SendValue(k Kind, v any) error {
	b, err := Encode(v)
	if err != nil {
		return fmt.Errorf("message %q: %w", rune(k), err)
	}
	return c.Send(k, b)
}

// Encode gives the one form of v that [Decode] accepts. Text that is not UTF-8
// (a file's name can be) becomes U+FFFD here, since it would be refused there.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if !bytes.Contains(b, []byte(`\ufffd`)) { // how Marshal writes what is not UTF-8
		return b, nil
	}
	again := reflect.New(reflect.TypeOf(v))
	if err := json.Unmarshal(b, again.Interface()); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return json.Marshal(again.Elem().Interface())
}

// SendChunks writes data as frames of kind k, none for no data.
func (c *Conn) SendChunks(k Kind, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), MaxChunk)
		if err := c.Send(k, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Receive reads one frame; io.EOF means that the other side is gone. Errors
// other than those of the stream wrap [ErrProtocol].
func (c *Conn) Receive() (Kind, []byte, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(c.rw, h[:]); err != nil {
		return 0, nil, err
	}
	k, n := Kind(h[0]), binary.BigEndian.Uint32(h[1:])
	if n > MaxControl { // every row is at most this; keeps the conversion safe
		return 0, nil, fmt.Errorf("receive: %w: frame of %d bytes", ErrProtocol, n)
	}
	if err := c.step(c.other(), k, int(n)); err != nil {
		return 0, nil, fmt.Errorf("receive: %w: %w", ErrProtocol, err)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(c.rw, payload); err != nil {
		return 0, nil, fmt.Errorf("receive message %q: %w", rune(k), err)
	}
	return k, payload, nil
}

// Decode reads a control payload strictly: it must be exactly the bytes that
// encoding the result gives. So a repeated, re-cased, unknown or missing key,
// space, trailing data and bad UTF-8 are all refused by one comparison.
func Decode[T any](payload []byte) (T, error) {
	var v T
	if err := json.Unmarshal(payload, &v); err != nil {
		return v, fmt.Errorf("decode: %w: %w", ErrProtocol, err)
	}
	again, err := json.Marshal(v)
	if err != nil || !bytes.Equal(again, payload) {
		return v, fmt.Errorf("decode: %w: not the canonical form", ErrProtocol)
	}
	return v, nil
}
