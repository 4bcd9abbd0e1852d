package ui

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

const testToken = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

// handler is a page with nothing on it, as bound to 127.0.0.1:8080.
func handler(t *testing.T, s Source) *Handler {
	t.Helper()
	if s.Look == nil {
		s.Look = func(context.Context) (Facts, error) { return Facts{Time: time.Now()}, nil }
	}
	if s.Doctor == nil {
		s.Doctor = func(context.Context) (Examination, error) {
			return Examination{}, errors.New("there is no doctor here")
		}
	}
	h, err := New(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, testToken, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWhoGetsThePage(t *testing.T) {
	for _, c := range []struct {
		name, method, host, path, origin string
		status                           int
	}{
		{"the printed address", "GET", "127.0.0.1:8080", "/" + testToken + "/", "", 200},
		{"without the last slash", "GET", "127.0.0.1:8080", "/" + testToken, "", 200},
		{"by the name localhost", "GET", "localhost:8080", "/" + testToken + "/", "", 200},
		{"only the head", "HEAD", "127.0.0.1:8080", "/" + testToken + "/", "", 200},
		{"from the page itself", "GET", "127.0.0.1:8080", "/" + testToken + "/", "http://127.0.0.1:8080", 200},
		{"without a token", "GET", "127.0.0.1:8080", "/", "", 403},
		{"a wrong token", "GET", "127.0.0.1:8080", "/" + strings.ToUpper(testToken) + "/", "", 403},
		{"a part of the token", "GET", "127.0.0.1:8080", "/" + testToken[:42], "", 403},
		{"the token and more", "GET", "127.0.0.1:8080", "/" + testToken + "/x", "", 403},
		{"the token in the query", "GET", "127.0.0.1:8080", "/?token=" + testToken, "", 403},
		{"an icon", "GET", "127.0.0.1:8080", "/favicon.ico", "", 403},
		{"a foreign host", "GET", "rebound.example:8080", "/" + testToken + "/", "", 403},
		{"a foreign host that begins like ours", "GET", "127.0.0.1.rebound.example:8080", "/" + testToken + "/", "", 403},
		{"no host", "GET", "", "/" + testToken + "/", "", 403},
		{"another port", "GET", "127.0.0.1:9090", "/" + testToken + "/", "", 403},
		{"no port", "GET", "127.0.0.1", "/" + testToken + "/", "", 403},
		{"a foreign origin", "GET", "127.0.0.1:8080", "/" + testToken + "/", "https://evil.example", 403},
		{"the origin null", "GET", "127.0.0.1:8080", "/" + testToken + "/", "null", 403},
		{"another port's origin", "GET", "127.0.0.1:8080", "/" + testToken + "/", "http://127.0.0.1:9090", 403},
		{"the origin of https", "GET", "127.0.0.1:8080", "/" + testToken + "/", "https://127.0.0.1:8080", 403},
		{"POST", "POST", "127.0.0.1:8080", "/" + testToken + "/", "", 405},
		{"OPTIONS", "OPTIONS", "127.0.0.1:8080", "/" + testToken + "/", "", 405},
		{"a method of no standard", "EAT", "127.0.0.1:8080", "/" + testToken + "/", "", 405},
		{"POST without a token", "POST", "127.0.0.1:8080", "/", "", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, nil)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			handler(t, Source{}).ServeHTTP(w, r)
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if whole := strings.Contains(w.Body.String(), "</html>"); whole != (c.status == 200 && c.method == "GET") {
				t.Errorf("the body is %q", w.Body)
			}
			if strings.Contains(w.Body.String(), testToken) {
				t.Error("the answer has the token")
			}
		})
	}
}

// TestHeaders: what keeps the page to itself is on every answer, refusals too.
func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/" + testToken + "/"} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+path, nil)
		w := httptest.NewRecorder()
		handler(t, Source{}).ServeHTTP(w, r)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; style-src 'sha256-") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: the policy is %q", path, csp)
		}
		if len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: a cookie is set, which every port of this machine would be sent", path)
		}
	}
}

func TestOnlyLoopbackAddresses(t *testing.T) {
	for address, good := range map[string]bool{
		"127.0.0.1": true, "127.0.0.2": true, "::1": true, "0.0.0.0": false, "::": false, "192.0.2.7": false, "::ffff:192.0.2.7": false, "": false,
	} {
		_, err := New(&net.TCPAddr{IP: net.ParseIP(address), Port: 80}, testToken, Source{}, slog.New(slog.DiscardHandler))
		if (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := New(&net.UnixAddr{Name: "/run/page"}, testToken, Source{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a socket that is no TCP one was taken")
	}
}

func TestTokensDiffer(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) != 43 || url.PathEscape(a) != a {
		t.Errorf("%q, %q", a, b)
	}
}

// TestTheFirstPartDoesNotWaitForTheDoctor: skills are there while the doctor is
// still at work.
func TestTheFirstPartDoesNotWaitForTheDoctor(t *testing.T) {
	done := make(chan struct{})
	h := handler(t, Source{Doctor: func(ctx context.Context) (Examination, error) {
		select {
		case <-done:
			return Examination{Note: "all is well"}, nil
		case <-ctx.Done():
			return Examination{}, ctx.Err()
		}
	}})
	s := httptest.NewUnstartedServer(h)
	a, err := newAccess(s.Listener.Addr(), testToken)
	if err != nil {
		t.Fatal(err)
	}
	h.access = a
	s.Start()
	defer s.Close()
	answer, err := http.Get(s.URL + "/" + testToken + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first := make([]byte, 512)
	if _, err := io.ReadFull(answer.Body, first); err != nil || !strings.Contains(string(first), "<!DOCTYPE html>") {
		t.Fatalf("%v: %s", err, first)
	}
	close(done)
	rest, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(rest), "all is well") || !strings.HasSuffix(strings.TrimSpace(string(rest)), "</html>") {
		t.Fatalf("%v: %s", err, rest)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, Source{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, ln) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}
