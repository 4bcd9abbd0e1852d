package httpserve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/rpc"
)

func TestRequestsAreJudgedBeforeTheyAreRead(t *testing.T) {
	long := strings.Repeat("x", rpc.MaxMessage+1)
	for _, tc := range []struct {
		name, method, body string
		h                  headers
		status             int
	}{
		{"a foreign Origin", "POST", initialize, headers{"Origin": "https://evil.example"}, 403},
		{"the Origin of a page without one", "POST", initialize, headers{"Origin": "null"}, 403},
		{"an Origin that begins like ours", "POST", initialize, headers{"Origin": "http://localhost.evil.example"}, 403},
		{"a page on this machine", "POST", initialize, headers{"Origin": "http://localhost:3000"}, 200},
		{"a foreign Host", "POST", initialize, headers{"Host": "evil.example:80"}, 403},
		{"a Host of this machine", "POST", initialize, headers{"Host": "localhost"}, 200},
		{"an address of this machine", "POST", initialize, headers{"Host": "[::1]:9"}, 200},
		{"a body over the limit", "POST", long, nil, 413},
		{"a body that is no JSON by its type", "POST", initialize, headers{"Content-Type": "text/plain"}, 415},
		{"a body in UTF-16 by its type", "POST", initialize, headers{"Content-Type": "application/json; charset=utf-16"}, 415},
		{"a body in UTF-8 by its type", "POST", initialize, headers{"Content-Type": "application/json; charset=UTF-8"}, 200},
		{"a client that refuses JSON", "POST", initialize, headers{"Accept": "application/json;q=0, text/event-stream"}, 406},
		{"a client that prefers streams", "POST", initialize, headers{"Accept": "application/json;q=0.1, text/event-stream"}, 200},
		{"a client that takes no JSON", "POST", initialize, headers{"Accept": "text/html"}, 406},
		{"a body that is no JSON", "POST", "{", nil, 400},
		{"a batch", "POST", "[" + ping + "]", nil, 400},
		{"a request outside of a session", "POST", ping, nil, 400},
		{"a session nobody has", "POST", ping, headers{"Mcp-Session-Id": "0123456789abcdef0123456789abcdef"}, 404},
		{"an unknown revision", "POST", initialize, headers{"Mcp-Protocol-Version": "1999-01-01"}, 400},
		{"a stream outside of a session", "GET", "", nil, 400},
		{"the end of a session nobody has", "DELETE", "", headers{"Mcp-Session-Id": "x"}, 404},
		{"another method", "PUT", initialize, nil, 405},
		{"a stream of the new era", "GET", "", headers{"Mcp-Protocol-Version": "2026-07-28"}, 405},
		{"the end of a session of the new era", "DELETE", "", headers{"Mcp-Protocol-Version": "2026-07-28"}, 405},
		{"a modern list", "POST", modernList, modern("tools/list", ""), 200},
		{"a modern list without its method's header", "POST", modernList, headers{"Mcp-Protocol-Version": "2026-07-28"}, 400},
		{"a modern list under another method's header", "POST", modernList, modern("ping", ""), 400},
		{"a modern list without the revision's header", "POST", modernList, headers{"Mcp-Method": "tools/list"}, 400},
		{"a modern header on an old body", "POST", ping, modern("ping", ""), 400},
		{"a modern method that is not there", "POST", strings.Replace(modernList, "tools/list", "no/such", 1), modern("no/such", ""), 404},
		{"a modern call under another tool's name", "POST", call(1, "quick", ","+modernMeta), modern("tools/call", "wait"), 400},
		{"a modern call", "POST", call(1, "quick", ","+modernMeta), modern("tools/call", "quick"), 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := open(t, Options{})
			resp := st.do(tc.method, tc.body, tc.h)
			body := text(t, resp)
			if resp.StatusCode != tc.status {
				t.Errorf("%s, want %d: %s", resp.Status, tc.status, body)
			}
			if tc.status >= 400 && (!json.Valid([]byte(body)) || !strings.Contains(body, `"message"`)) {
				t.Errorf("the refusal says %q", body)
			}
			if tc.h["Mcp-Method"] != "" && resp.Header.Get("Mcp-Session-Id") != "" {
				t.Error("a request that stands alone was given a session")
			}
		})
	}
}

func TestBodyOverTheLimitIsRefusedBeforeItIsSent(t *testing.T) {
	st := open(t, Options{})
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(st.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", rpc.MaxMessage+1)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestBodyOfUnknownLengthIsCutAtTheLimit(t *testing.T) {
	st := open(t, Options{})
	endless := io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(zeroes{}, rpc.MaxMessage+100))
	req, err := http.NewRequestWithContext(t.Context(), "POST", st.url, io.NopCloser(endless))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := st.client.Do(req)
	if err != nil {
		return // the server closed the connection while we were still sending
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("0"), len(p))), nil }

func TestTokenIsNeeded(t *testing.T) {
	token := "0123456789abcdef-token"
	st := open(t, Options{Token: token})
	for given, status := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, "Basic " + token: 401, token: 401, "Bearer " + token + "x": 401, "Bearer " + token: 200, "bearer " + token: 200, "Bearer  " + token: 200,
	} {
		resp := st.do("POST", initialize, headers{"Authorization": given})
		if resp.StatusCode != status || (status == 401) != (resp.Header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%q: %s", given, resp.Status)
		}
	}
}

func TestAddressThatOthersReachNeedsAToken(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.invalid:0"} {
		if ln, err := Listen(address, ""); !errors.Is(err, ErrOpenToAll) {
			t.Errorf("%s: %v, %v", address, ln, err)
		}
	}
	ln, err := Listen("0.0.0.0:0", "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

func TestHostAndOriginOfAServerOnANetwork(t *testing.T) {
	for _, tc := range []struct {
		name, host, origin string
		hosts              []string
		ok                 bool
	}{
		{"any name while none is given", "anything.example", "", nil, true},
		{"a page of the server's own", "a.example", "https://a.example", nil, true},
		{"a page of another", "a.example", "https://b.example", nil, false},
		{"a page on the visitor's machine", "a.example", "http://localhost:1", nil, false},
		{"a name that was given", "a.example:80", "", []string{"a.example"}, true},
		{"a name that was not", "b.example", "", []string{"a.example"}, false},
		{"an origin that was given", "a.example", "https://app.example:8443", nil, true},
		{"a host given for all its origins", "a.example", "http://other.example:81", nil, true},
		{"its other port", "a.example", "https://app.example", nil, false},
	} {
		r, _ := http.NewRequest("POST", "http://"+tc.host+"/mcp", nil)
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if no := (access{hosts: tc.hosts, origins: []string{"https://app.example:8443/", "other.example"}}).check(r); (no == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, no)
		}
	}
}

func TestTokenFileIsReadStrictly(t *testing.T) {
	good := strings.Repeat("k", 16)
	for _, tc := range []struct {
		name, text string
		mode       os.FileMode
		ok         bool
	}{
		{"a line", good + "\n", 0o600, true},
		{"a file others can read", good, 0o644, false},
		{"a short one", "short", 0o600, false},
		{"an empty one", "", 0o600, false},
		{"two lines", good + "\n" + good, 0o600, false},
		{"a very long one", strings.Repeat("k", maxToken+1), 0o600, false},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		if token, err := ReadToken(path); (err == nil) != tc.ok || tc.ok && token != good {
			t.Errorf("%s: %q, %v", tc.name, token, err)
		}
	}
	if _, err := ReadToken(t.TempDir()); err == nil {
		t.Error("a directory is no token")
	}
}

// FuzzHostAndOrigin holds what is let in against what a browser would say: on a
// loopback address only names and pages of this machine.
func FuzzHostAndOrigin(f *testing.F) {
	for _, seed := range [][2]string{
		{"localhost:1", "http://localhost:2"}, {"127.0.0.1", "https://[::1]"}, {"[::1]:80", "null"}, {"evil.example", ""},
		{"localhost.evil.example", "http://localhost@evil.example"}, {"127.0.0.1.nip.io", "http://127.1"}, {"LOCALHOST", "HTTP://LOCALHOST"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := &http.Request{Host: host, Header: http.Header{"Origin": {origin}}}
		if (access{loopback: true}).check(r) != nil {
			return
		}
		if name := hostOnly(host); !strings.EqualFold(name, "localhost") && !net.ParseIP(name).IsLoopback() {
			t.Fatalf("the Host %q was let in", host)
		}
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Hostname(), "localhost") && !net.ParseIP(u.Hostname()).IsLoopback() {
			t.Fatalf("the Origin %q was let in", origin)
		}
	})
}
