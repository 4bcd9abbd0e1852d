package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// half is a stream that is only read or only written.
type half struct {
	io.Reader
	io.Writer
}

// raw makes a frame by hand.
func raw(k Kind, payload string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{byte(k)}, uint32(len(payload)))
	return append(b, payload...)
}

// begun gives an end whose front has said Begin.
func begun(side Side, rw io.ReadWriter) *Conn {
	c := NewConn(side, rw)
	c.talk.state = Greeting
	return c
}

func TestAFrameArrivesAsItWasSent(t *testing.T) {
	var pipe bytes.Buffer
	sent := Ready{Version: "1", Notes: []string{"<&>\u2028 é"}, EnvNames: map[string]bool{"TZ": true}}
	if err := begun(Monitor, half{nil, &pipe}).SendValue(KindReady, sent); err != nil {
		t.Fatal(err)
	}
	k, payload, err := begun(Front, half{&pipe, nil}).Receive()
	if err != nil || k != KindReady {
		t.Fatal(k, err)
	}
	got, err := Decode[Ready](payload)
	if err != nil || got.Notes[0] != sent.Notes[0] || !got.EnvNames["TZ"] {
		t.Fatal(got, err)
	}
}

func TestSendRefusesWhatTheTableDoes(t *testing.T) {
	c := NewConn(Front, half{nil, io.Discard})
	if err := c.SendValue(KindPlan, Request{}); err == nil {
		t.Error("a plan before ready was sent")
	}
}

func TestNamesThatAreNotUTF8CrossAsReplacement(t *testing.T) {
	b, err := Encode(RootState{Path: "/a\xffb"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode[RootState](b); err != nil || got.Path != "/a\uFFFDb" {
		t.Fatal(got, err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	ready, _ := Encode(Ready{})
	for name, c := range map[string]struct {
		side  Side
		bytes []byte
	}{
		"an unknown kind":              {Front, raw('?', "{}")},
		"a kind of the wrong side":     {Monitor, raw(KindReady, string(ready))},
		"a message out of order":       {Front, raw(KindResult, "{}")},
		"a second greeting":            {Front, append(raw(KindReady, string(ready)), raw(KindReady, string(ready))...)},
		"a length over the bound":      {Front, []byte{byte(KindReady), 0, 1, 0, 1}},
		"a length of four gigabytes":   {Front, []byte{byte(KindReady), 255, 255, 255, 255}},
		"a plan before the monitor is": {Monitor, raw(KindPlan, "{}")},
		"a second begin":               {Monitor, raw(KindBegin, "")},
	} {
		t.Run(name, func(t *testing.T) {
			conn := begun(c.side, half{bytes.NewReader(c.bytes), nil})
			var err error
			for err == nil {
				_, _, err = conn.Receive()
			}
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("got %v", err)
			}
		})
	}
	conn := begun(Front, half{bytes.NewReader(raw(KindReady, "{}")[:6]), nil})
	if _, _, err := conn.Receive(); err == nil || errors.Is(err, ErrProtocol) {
		t.Errorf("a cut frame gives %v, want an error of the stream", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, _ := Encode(Refused{Code: "c", Message: "m", Hint: "h"})
	for name, text := range map[string]string{
		"a repeated key":        `{"code":"a","code":"c","message":"m","hint":"h"}`,
		"a re-cased key":        strings.Replace(string(good), "code", "Code", 1),
		"an unknown key":        strings.Replace(string(good), "{", `{"x":1,`, 1),
		"a missing key":         `{"code":"c","message":"m"}`,
		"space":                 strings.Replace(string(good), ",", ", ", 1),
		"trailing data":         string(good) + "{}",
		"a trailing newline":    string(good) + "\n",
		"bytes that no text is": strings.Replace(string(good), `"m"`, "\"m\xff\"", 1),
		"another spelling":      strings.Replace(string(good), `"m"`, `"\u006d"`, 1),
		"nothing":               "",
		"null":                  "null",
	} {
		if v, err := Decode[Refused]([]byte(text)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: got %v, %v", name, v, err)
		}
	}
	if _, err := Decode[Refused](good); err != nil {
		t.Error(err)
	}
}

// values are one message of each type, for seeds.
func values() map[Kind]any {
	return map[Kind]any{
		KindReady: Ready{Notes: []string{"n"}}, KindPlan: Request{Env: []string{"A"}}, KindPlanned: Planned{},
		KindStarted: Started{Pid: 7}, KindProgress: Progress{LastLine: "é<"}, KindResult: Result{}, KindRefused: Refused{},
	}
}

// decode decodes a control payload by its kind and encodes it again.
func decode(k Kind, payload []byte) (again []byte, control bool, err error) {
	back := func(v any, err error) ([]byte, bool, error) {
		if err != nil {
			return nil, true, err
		}
		b, err := Encode(v)
		return b, true, err
	}
	switch k {
	case KindReady:
		v, err := Decode[Ready](payload)
		return back(v, err)
	case KindPlan, KindRun:
		v, err := Decode[Request](payload)
		return back(v, err)
	case KindPlanned:
		v, err := Decode[Planned](payload)
		return back(v, err)
	case KindStarted:
		v, err := Decode[Started](payload)
		return back(v, err)
	case KindProgress:
		v, err := Decode[Progress](payload)
		return back(v, err)
	case KindResult:
		v, err := Decode[Result](payload)
		return back(v, err)
	case KindRefused:
		v, err := Decode[Refused](payload)
		return back(v, err)
	}
	return payload, false, nil
}

// FuzzDecode: what is accepted encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for k, v := range values() {
		b, err := Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(k), b)
	}
	boot, _ := Encode(Boot{Roots: []string{"/r"}})
	f.Add(byte('B'), boot)
	f.Fuzz(func(t *testing.T, k byte, payload []byte) {
		if k == 'B' {
			if v, err := Decode[Boot](payload); err == nil {
				if b, err := Encode(v); err != nil || !bytes.Equal(b, payload) {
					t.Fatalf("accepted %q, encodes to %q, %v", payload, b, err)
				}
			}
			return
		}
		if again, _, err := decode(Kind(k), payload); err == nil && !bytes.Equal(again, payload) {
			t.Fatalf("accepted %q, encodes to %q", payload, again)
		}
	})
}

// FuzzReceive: whatever comes, nothing panics or is read past its bound, and
// the frames that pass are the bytes that came.
func FuzzReceive(f *testing.F) {
	ready, _ := Encode(Ready{})
	request, _ := Encode(Request{})
	f.Add(true, raw(KindReady, string(ready)))
	f.Add(true, append(raw(KindReady, string(ready)), raw(KindStdout, "x")...))
	f.Add(false, raw(KindPlan, string(request)))
	f.Add(false, append(raw(KindConfig, "{}"), raw(KindRun, string(request))...))
	f.Fuzz(func(t *testing.T, front bool, stream []byte) {
		side := Monitor
		if front {
			side = Front
		}
		c := NewConn(side, half{bytes.NewReader(stream), nil})
		c.talk.state = map[bool]State{true: Greeting, false: Idle}[front]
		var passed []byte
		for {
			k, payload, err := c.Receive()
			if err != nil {
				break
			}
			passed = append(passed, raw(k, string(payload))...)
		}
		if !bytes.HasPrefix(stream, passed) {
			t.Fatalf("passed %q of %q", passed, stream)
		}
	})
}
