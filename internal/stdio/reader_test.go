package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"skill-mcp/internal/rpc"
)

// FuzzLines cuts any stream, in any chunks, as bytes.Split would; a line over
// the cap is reported with the id that encoding/json finds in it.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\r\n\n a \r\n", "{\"id\":7,\"m\":\"xxxxxxxxxxxxxxxxxxxxxxxxxx\"}\nok\n",
		"{\"m\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"p\":{\"id\":1},\"id\":\"k\"}", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} {
		f.Add([]byte(s))
	}
	const max = 32
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := newLineReader(iotest.OneByteReader(bytes.NewReader(stream)), max)
		for _, want := range bytes.Split(stream, []byte("\n")) {
			trimmed := bytes.Trim(want, " \t\r\n")
			if len(bytes.TrimRight(want, "\r\n")) <= max && len(trimmed) == 0 {
				continue
			}
			l, err := r.next()
			if err != nil {
				t.Fatalf("%q: %v where %q should come", stream, err, want)
			}
			if l.tooLong != (len(bytes.TrimRight(want, "\r\n")) > max) || !l.tooLong && !bytes.Equal(l.text, trimmed) {
				t.Fatalf("%q: got %q, %v, want %q", stream, l.text, l.tooLong, want)
			}
			if l.tooLong {
				checkID(t, want, l.id)
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q: %v at the end", stream, err)
		}
	})
}

func checkID(t *testing.T, text []byte, id json.RawMessage) {
	t.Helper()
	if id != nil && !rpc.UsableID(id) {
		t.Fatalf("%q: id %q", text, id)
	}
	if !json.Valid(text) {
		return
	}
	msg, _, fault := rpc.Parse(text)
	if fault == nil && msg.Kind == rpc.Request && len(msg.ID) <= maxID && !bytes.Contains(text, []byte(`\`)) && !bytes.Equal(bytes.TrimSpace(msg.ID), id) {
		t.Fatalf("%q: recovered %q, it is %q", text, id, msg.ID)
	}
}

func TestClientThatNeverReadsLosesProgressAndNothingElse(t *testing.T) {
	w := newWriter(io.Discard)
	w.Queue(make([]byte, dropAbove), false)
	w.Queue([]byte("progress"), true)
	w.Queue([]byte("result"), false)
	if len(w.queue) != 2 {
		t.Errorf("%d frames are queued", len(w.queue))
	}
	if w.full(pauseAbove) != nil {
		t.Error("reading is paused too soon")
	}
	w.Queue(make([]byte, pauseAbove), false)
	room := w.full(pauseAbove)
	if room == nil {
		t.Fatal("reading goes on")
	}
	w.Flush()
	<-room
	if w.waiting != 0 || w.full(0) != nil {
		t.Errorf("%d bytes are left", w.waiting)
	}
}

func TestFramesAreJoinedAndKeptInOrder(t *testing.T) {
	var out bytes.Buffer
	batch := [][]byte{[]byte("a\n"), bytes.Repeat([]byte("b"), joinBelow), []byte("c\n"), []byte("d\n"), bytes.Repeat([]byte("e"), joinBelow), []byte("f\n")}
	n, err := writeAll(&out, batch)
	if want := bytes.Join(batch, nil); err != nil || n != len(want) || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
