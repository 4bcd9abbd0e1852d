package egresswire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxMessage is the largest message in bytes. A report of the most hosts and
// refusals with the longest names stays below it, and one packet of a unix
// socket of default size holds it.
const MaxMessage = 64 << 10

// Kind names a message; the table is in the package comment.
type Kind byte

const (
	KindConfig Kind = 'c'
	KindReady  Kind = 'y'
	KindHosts  Kind = 'h'
	KindAsk    Kind = 'a'
	KindReport Kind = 'r'
	KindFault  Kind = 'f'
)

// Ready is the body of a ready message: what the process did to itself.
type Ready struct {
	UID         int  `json:"uid"`
	LandlockABI int  `json:"landlockABI"` // 0: the kernel offers none
	Seccomp     bool `json:"seccomp"`
}

// Hosts is the body of a hosts message: Config.Hosts.
type Hosts struct {
	Hosts []string `json:"hosts"`
}

// Ask is the body of an ask message. It has no fields.
type Ask struct{}

// Fault is the body of a fault message.
type Fault struct {
	Stage string `json:"stage"`
	Error string `json:"error"`
}

// Encode makes one message. The error is for a body that is too large.
func Encode(kind Kind, body any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte(byte(kind))
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, fmt.Errorf("encode message %q: %w", kind, err)
	}
	message := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(message) > MaxMessage {
		return nil, fmt.Errorf("encode message %q: %d bytes, at most %d", kind, len(message), MaxMessage)
	}
	return message, nil
}

// KindOf is the kind of an undecoded message, 0 when it is empty.
func KindOf(message []byte) Kind {
	if len(message) == 0 {
		return 0
	}
	return Kind(message[0])
}

// Decode reads the body of a message of the wanted kind into body. What
// Encode would not have written for the same value is refused: unknown,
// repeated and re-cased keys, spaces, trailing data, bad UTF-8.
func Decode(message []byte, want Kind, body any) error {
	if KindOf(message) != want {
		return fmt.Errorf("decode message: kind %q, want %q", KindOf(message), want)
	}
	if len(message) > MaxMessage {
		return fmt.Errorf("decode message %q: %d bytes, at most %d", want, len(message), MaxMessage)
	}
	d := json.NewDecoder(bytes.NewReader(message[1:]))
	d.DisallowUnknownFields()
	if err := d.Decode(body); err != nil {
		return fmt.Errorf("decode message %q: %w", want, err)
	}
	again, err := Encode(want, body)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, message) {
		return fmt.Errorf("decode message %q: %w", want, errNotCanonical)
	}
	return nil
}

var errNotCanonical = errors.New("not in the one accepted form")
