package pack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// fakeGitHub serves the contents of one repository and counts.
type fakeGitHub struct {
	*httptest.Server
	files    map[string]string // path to content
	types    map[string]string // path to a type other than file
	urls     map[string]string // path to a download address other than its own
	sizes    map[string]int64  // path to a size that lies
	raw      func(w http.ResponseWriter, name string) bool
	commits  map[string]string
	listings int
	loads    int
	tokens   []string
	refs     map[string]bool
}

func newFakeGitHub(t *testing.T, files map[string]string) *fakeGitHub {
	g := &fakeGitHub{files: files, types: map[string]string{}, urls: map[string]string{}, sizes: map[string]int64{}, refs: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/repos/o/r/contents/", func(w http.ResponseWriter, r *http.Request) {
		g.list(w, r, strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/contents"), "/"))
	})
	mux.HandleFunc("/api/repos/o/r/contents", func(w http.ResponseWriter, r *http.Request) { g.list(w, r, "") })
	mux.HandleFunc("/raw/", func(w http.ResponseWriter, r *http.Request) {
		g.loads++
		name := strings.TrimPrefix(r.URL.Path, "/raw/")
		if g.raw != nil && g.raw(w, name) {
			return
		}
		io.WriteString(w, g.files[name])
	})
	mux.HandleFunc("/api/repos/o/r/commits/", func(w http.ResponseWriter, r *http.Request) {
		sha, ok := g.commits[strings.TrimPrefix(r.URL.Path, "/api/repos/o/r/commits/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"sha":%q}`, sha)
	})
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); a != "" {
			g.tokens = append(g.tokens, a)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *fakeGitHub) list(w http.ResponseWriter, r *http.Request, dir string) {
	g.listings++
	g.refs[r.URL.Query().Get("ref")] = true
	seen := map[string]bool{}
	out := []map[string]any{}
	for name, text := range g.files {
		rel := strings.TrimPrefix(name, dir+"/")
		if dir == "" {
			rel = name
		} else if rel == name {
			continue
		}
		first, _, deeper := strings.Cut(rel, "/")
		if seen[first] {
			continue
		}
		seen[first] = true
		full := strings.TrimPrefix(path.Join(dir, first), "/")
		entry := map[string]any{"name": first, "path": full, "type": "file", "size": len(text), "download_url": g.URL + "/raw/" + full}
		if deeper {
			entry = map[string]any{"name": first, "path": full, "type": "dir", "size": 0, "download_url": nil}
		}
		if v, ok := g.types[full]; ok {
			entry["type"] = v
		}
		if v, ok := g.urls[full]; ok {
			entry["download_url"] = v
		}
		if v, ok := g.sizes[full]; ok {
			entry["size"] = v
		}
		out = append(out, entry)
	}
	if len(out) == 0 {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (b *bench) with(g *fakeGitHub) *bench {
	b.GitHub = GitHub{API: g.URL + "/api", Token: "secret"}
	return b
}

const sha = "0123456789012345678901234567890123456789"

func TestGitHubImport(t *testing.T) {
	g := newFakeGitHub(t, map[string]string{
		"README.md": "hello", "skills/a/SKILL.md": string(md("a")), "skills/a/deep/er/x.txt": "x", "skills/a/.git/config": "no",
		"skills/b/SKILL.md": string(md("b")), "skills/b/link": "../../etc", "other/deep/down/SKILL.md": string(md("far")),
	})
	g.types["skills/b/link"] = "symlink"
	g.commits = map[string]string{"feature/x": sha, "HEAD": sha}
	b := newBench(t).with(g)
	p := b.previewOf("https://github.com/o/r/tree/feature/x/skills")
	if paths(p) != "a b" || !p.at("a").Importable || p.at("b").Importable || p.Source.Ref != "feature/x" || p.Source.Commit != sha || !g.refs[sha] {
		t.Fatalf("%s %+v %+v", paths(p), p.Source, p.at("a").Diagnostics)
	}
	g.Close() // applying needs no network: the previewed bytes are kept
	if res := b.apply(p, Choice{Path: "a"}); res[0].Status != StatusImported || b.read("a/deep/er/x.txt") != "x" {
		t.Fatalf("%+v", res)
	}
	if s := b.read("a/.source.json"); !strings.Contains(s, `"commit": "`+sha) || !strings.Contains(s, `"ref": "feature/x"`) {
		t.Error(s)
	}
	if len(g.tokens) != 0 {
		t.Errorf("the token went to another host: %v", g.tokens)
	}
	if left := b.leftovers(); left != "" {
		t.Error(left)
	}
}

func TestGitHubAddresses(t *testing.T) {
	g := newFakeGitHub(t, map[string]string{"x/SKILL.md": string(md("x"))})
	b := newBench(t).with(g)
	for _, good := range []string{"https://github.com/o/r", "https://github.com/o/r.git", "https://github.com/o/r/", "https://github.com/o/r/tree/main/x", "https://github.com/o/r/blob/main/x/SKILL.md"} {
		if p, err := b.Preview(context.Background(), good); err != nil || len(p.Candidates) != 1 {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"http://github.com/o/r", "https://me:hunter2@github.com/o/r", "https://example.com/o/r", "https://github.com/o", "https://github.com/o/r/issues/1",
		"https://github.com/o/r?x=1", "https://github.com/o/r#x", "https://github.com:8443/o/r", "https://github.com/o/..", "https://github.com/o/r/tree/main/../x", "https://github.com/o/r/tree", "ssh://git@github.com/o/r", "file:///etc"} {
		_, err := b.Preview(context.Background(), bad)
		if codeOf(err) != "github.address" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestB50RequestBudget(t *testing.T) {
	files := map[string]string{"SKILL.md": string(md("x"))}
	for i := range MaxRequests - 3 { // two listings, and SKILL.md itself
		files[fmt.Sprintf("f/%d", i)] = "x"
	}
	g := newFakeGitHub(t, files)
	b := newBench(t).with(g)
	p := b.previewOf("https://github.com/o/r")
	if g.listings+g.loads != MaxRequests || !p.Candidates[0].Importable {
		t.Errorf("%d listings, %d downloads", g.listings, g.loads)
	}
	files["f/more"] = "x"
	g.listings, g.loads = 0, 0
	if _, err := b.Preview(context.Background(), "https://github.com/o/r"); codeOf(err) != "github.request-count-exceeded" {
		t.Error(err)
	}
	if g.listings+g.loads > MaxRequests {
		t.Errorf("%d listings, %d downloads", g.listings, g.loads)
	}
}

// withFile is a repository of a skill with one more file, f.
func withFile(t *testing.T) (*fakeGitHub, *bench) {
	g := newFakeGitHub(t, map[string]string{"SKILL.md": string(md("x")), "f": "1234"})
	return g, newBench(t).with(g)
}

// previewCode is the code of a preview of it, or of what is wrong with its skill.
func (b *bench) previewCode() string {
	p, err := b.Preview(context.Background(), "https://github.com/o/r")
	if err != nil {
		return codeOf(err)
	}
	return p.Candidates[0].codes()
}

func TestB50OtherHosts(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	t.Run("a download address on another host", func(t *testing.T) {
		g, b := withFile(t)
		g.urls["f"] = other.URL + "/f"
		if code := b.previewCode(); code != "github.foreign-host" || asked != 0 {
			t.Errorf("%s, asked %d times", code, asked)
		}
	})
	t.Run("a redirect to another host", func(t *testing.T) {
		g, b := withFile(t)
		g.raw = func(w http.ResponseWriter, name string) bool {
			w.Header().Set("Location", other.URL+"/f")
			w.WriteHeader(http.StatusFound)
			return true
		}
		if code := b.previewCode(); code != "github.foreign-host" || asked != 0 {
			t.Errorf("%s, asked %d times", code, asked)
		}
	})
	t.Run("a redirect on the same host", func(t *testing.T) {
		g, b := withFile(t)
		g.raw = func(w http.ResponseWriter, name string) bool {
			if name != "f" {
				return false
			}
			w.Header().Set("Location", "/raw/SKILL.md")
			w.WriteHeader(http.StatusFound)
			return true
		}
		if code := b.previewCode(); code != CodeFileUnusable { // another length than listed
			t.Error(code)
		}
	})
}

func TestB50Lies(t *testing.T) {
	t.Run("a declared length beyond the limit", func(t *testing.T) {
		g, b := withFile(t)
		g.raw = func(w http.ResponseWriter, name string) bool {
			if name == "f" {
				w.Header().Set("Content-Length", fmt.Sprint(MaxFileBytes+1))
			}
			return name == "f"
		}
		if code := b.previewCode(); code != CodeFileUnusable {
			t.Error(code)
		}
	})
	t.Run("a body without end", func(t *testing.T) {
		g, b := withFile(t)
		sent := 0
		g.raw = func(w http.ResponseWriter, name string) bool {
			if name != "f" {
				return false
			}
			w.(http.Flusher).Flush() // chunked: no length is declared
			for n, err := 0, error(nil); err == nil; sent += n {
				n, err = w.Write(make([]byte, 1<<20))
			}
			return true
		}
		if code := b.previewCode(); code != CodeFileUnusable || sent > MaxFileBytes+(16<<20) {
			t.Errorf("%s after %d bytes", code, sent)
		}
	})
	t.Run("a size that lies", func(t *testing.T) {
		g, b := withFile(t)
		g.sizes["f"] = 3
		if code := b.previewCode(); code != CodeFileUnusable {
			t.Error(code)
		}
	})
	t.Run("a size beyond the limit is not downloaded", func(t *testing.T) {
		g, b := withFile(t)
		g.sizes["f"] = MaxFileBytes + 1
		if code := b.previewCode(); code != CodeFileSize || g.loads != 0 {
			t.Errorf("%s, %d downloads", code, g.loads)
		}
	})
}

func TestB50NamesOfListings(t *testing.T) {
	for name, bad := range map[string]string{"a path in a name": "../../x", "a slash": "a/b", "a device": "nul", "an escape": "a\x1bb"} {
		t.Run(name, func(t *testing.T) {
			g, b := withFile(t)
			g.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = json.NewEncoder(w).Encode([]listed{{Name: "SKILL.md", Type: "file", Size: 1, DownloadURL: g.URL + "/raw/SKILL.md"}, {Name: bad, Type: "file", Size: 1, DownloadURL: g.URL + "/raw/f"}})
			})
			if code := b.previewCode(); code != CodeFileUnusable {
				t.Error(code)
			}
		})
	}
}

func TestGitHubAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
		code   string
		says   string
	}{
		{"rate limit", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767323045"}, "github.rate-limited", "wait until 2026-01-02T03:04:05Z"},
		{"secondary rate limit", 429, map[string]string{"Retry-After": "60"}, "github.rate-limited", "wait 60 s"},
		{"nothing there", 404, nil, "github.not-found", "GITHUB_TOKEN"},
		{"a bad token", 401, nil, "github.unauthorised", "GITHUB_TOKEN"},
		{"an error", 500, nil, "github.answer", "500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
			}))
			defer s.Close()
			b := newBench(t)
			b.GitHub.API = s.URL
			_, err := b.Preview(context.Background(), "https://github.com/o/r")
			if codeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

// hostsTransport answers for every host and notes who was sent the token.
type hostsTransport struct{ sent map[string]string }

func (h *hostsTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	h.sent[r.URL.Host] = r.Header.Get("Authorization")
	body := string(md("x"))
	if strings.Contains(r.URL.Path, "/contents") {
		body = fmt.Sprintf(`[{"name":"SKILL.md","type":"file","size":%d,"download_url":"https://raw.githubusercontent.com/o/r/main/SKILL.md"}]`, len(body))
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r, Header: http.Header{}}, nil
}

func TestTheTokenGoesToGitHubOnly(t *testing.T) {
	b := newBench(t)
	h := &hostsTransport{sent: map[string]string{}}
	b.GitHub = GitHub{Token: "secret", Client: &http.Client{Transport: h}}
	b.previewOf("https://github.com/o/r")
	if len(h.sent) != 2 || h.sent["api.github.com"] != "Bearer secret" || h.sent["raw.githubusercontent.com"] != "Bearer secret" {
		t.Errorf("%v", h.sent)
	}
	h.sent = map[string]string{}
	b.GitHub.API = "https://mirror.example"
	if _, err := b.Preview(context.Background(), "https://github.com/o/r"); codeOf(err) != "github.foreign-host" {
		t.Error(err)
	}
	if h.sent["mirror.example"] != "" || len(h.sent) != 1 {
		t.Errorf("%v", h.sent)
	}
}
