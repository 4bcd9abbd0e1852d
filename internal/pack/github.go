package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"skill-mcp/internal/archive"
)

const (
	defaultAPI = "https://api.github.com"
	rawHost    = "raw.githubusercontent.com"
	// maxListing bounds one listing: GitHub cuts a folder at 1,000 entries of
	// about 1.5 KB.
	maxListing = 8 << 20
	// cutAt is where GitHub cuts a listing without saying so.
	cutAt = 1000
	// requestTime bounds one request from its first byte to its last.
	requestTime  = 2 * time.Minute
	maxRedirects = 3
)

// GitHub says how GitHub is reached. The zero value is the public one without
// a token.
type GitHub struct {
	API    string       // base of the API; tests and mirrors set it
	Token  string       // sent to api.github.com and raw.githubusercontent.com and nowhere else
	Client *http.Client // transport; http.DefaultClient's when nil
}

// session is one look at a repository with its budget.
type session struct {
	base     *url.URL
	token    string
	client   *http.Client
	requests int
	left     int64 // bytes that may still be downloaded
}

func (g GitHub) session() (*session, error) {
	api := g.API
	if api == "" {
		api = defaultAPI
	}
	base, err := url.Parse(strings.TrimSuffix(api, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil {
		return nil, refuse("github.api", "set MCP_SKILL_GITHUB_API to the base of an API, or leave it unset", "the base of the GitHub API is not an address")
	}
	s := &session{base: base, token: g.Token, left: MaxBundleBytes}
	client := http.Client{Timeout: requestTime}
	if g.Client != nil {
		client.Transport = g.Client.Transport
	}
	client.CheckRedirect = s.checkRedirect
	s.client = &client
	return s, nil
}

// mayAsk says whether a request may go to this place at all: the API's own
// host, and for the public API the host of its raw files.
func (s *session) mayAsk(u *url.URL) bool {
	if u.Host == s.base.Host && u.Scheme == s.base.Scheme {
		return true
	}
	return s.base.String() == defaultAPI && u.Scheme == "https" && u.Host == rawHost
}

// mayAuthorise: a mirror, a test server or any host a listing names never sees
// the token.
func mayAuthorise(u *url.URL) bool {
	return u.Scheme == "https" && (u.Host == "api.github.com" || u.Host == rawHost)
}

func (s *session) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refuse("github.redirect", "", "more than %d redirects", maxRedirects)
	}
	if !s.mayAsk(r.URL) {
		return refuse("github.foreign-host", "", "a redirect leads to another host, %s", archive.Shown(r.URL.Host))
	}
	if !mayAuthorise(r.URL) {
		r.Header.Del("Authorization")
	}
	return nil
}

// get asks for one thing. The caller closes the body. Only status 200 is an
// answer.
func (s *session) get(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	if !s.mayAsk(u) {
		return nil, refuse("github.foreign-host", "", "a listing names another host, %s; it is not asked", archive.Shown(u.Host))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", "skill-mcp")
	// A transparent gunzip would make Content-Length meaningless.
	r.Header.Set("Accept-Encoding", "identity")
	if s.token != "" && mayAuthorise(u) {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := s.client.Do(r)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return nil, refusal
	}
	if err != nil {
		return nil, fmt.Errorf("ask GitHub: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, s.answerError(res)
	}
	return res, nil
}

// statusError is an answer other than 200.
type statusError struct {
	status int
	Refusal
}

// Unwrap lets a caller that looks for a Refusal find it.
func (e *statusError) Unwrap() error { return &e.Refusal }

func (s *session) answerError(res *http.Response) error {
	e := &statusError{status: res.StatusCode}
	place := archive.Shown(res.Request.URL.Path)
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusForbidden && (res.Header.Get("X-RateLimit-Remaining") == "0" || res.Header.Get("Retry-After") != ""):
		e.Refusal = *refuse("github.rate-limited", rateHint(res.Header, s.token != ""), "GitHub takes no more requests for now")
	case res.StatusCode == http.StatusNotFound:
		e.Refusal = *refuse("github.not-found", "for a private repository set GITHUB_TOKEN", "GitHub has nothing at %s", place)
	case res.StatusCode == http.StatusUnauthorized:
		e.Refusal = *refuse("github.unauthorised", "set GITHUB_TOKEN to a token that is valid, or unset it", "GitHub refuses the token")
	default:
		e.Refusal = *refuse("github.answer", "try again later", "GitHub answers %d for %s", res.StatusCode, place)
	}
	return e
}

func rateHint(h http.Header, hasToken bool) string {
	hint := "wait an hour"
	if seconds, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		hint = "wait until " + time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	} else if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		hint = fmt.Sprintf("wait %d s", seconds)
	}
	if !hasToken {
		hint += ", or set GITHUB_TOKEN for a larger allowance"
	}
	return hint
}

// count spends one of the requests that listings and downloads have.
func (s *session) count() error {
	if s.requests >= MaxRequests {
		return refuse("github.request-count-exceeded", "import one folder: https://github.com/owner/repo/tree/ref/path", "the skills need more than %d listings and downloads", MaxRequests)
	}
	s.requests++
	return nil
}

// readAll reads a body of at most limit bytes. The declared length is looked
// at first and believed only when it is too large.
func readAll(res *http.Response, to io.Writer, limit int64) (int64, error) {
	if res.ContentLength > limit {
		return 0, tooLong(res.ContentLength, limit)
	}
	n, err := io.Copy(to, io.LimitReader(res.Body, limit+1))
	if err != nil {
		return n, fmt.Errorf("read GitHub's answer: %w", err)
	}
	if n > limit {
		return n, tooLong(n, limit)
	}
	return n, nil
}

func tooLong(actual, limit int64) error {
	return &archive.Problem{Code: archive.FileSize, Detail: "the download is too large", Actual: actual, Limit: limit, Unit: "bytes"}
}

// listed is one entry of a folder as GitHub's contents API gives it.
type listed struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // file, dir, symlink, submodule
	Size        int64  `json:"size"`
	DownloadURL string `json:"download_url"`
}

func (s *session) contents(a *address, ref, folder string) *url.URL {
	u := s.base.JoinPath("repos", a.owner, a.repo, "contents")
	if folder != "" {
		u = u.JoinPath(strings.Split(folder, "/")...)
	}
	if ref != "" {
		u.RawQuery = url.Values{"ref": {ref}}.Encode()
	}
	return u
}

func (s *session) list(ctx context.Context, u *url.URL) ([]listed, error) {
	if err := s.count(); err != nil {
		return nil, err
	}
	res, err := s.get(ctx, u, "application/vnd.github+json")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var body strings.Builder
	if _, err := readAll(res, &body, maxListing); err != nil {
		return nil, err
	}
	var entries []listed
	if err := json.Unmarshal([]byte(body.String()), &entries); err != nil {
		return nil, refuse("github.answer", "name a folder, not a file", "GitHub's answer for %s is not a folder", archive.Shown(u.Path))
	}
	if len(entries) >= cutAt {
		return nil, refuse("github.folder-cut", "download the repository as a zip and import that", "%s has %d or more entries, which GitHub does not list in full", archive.Shown(u.Path), cutAt)
	}
	return entries, nil
}

// commit asks what a ref stands for, so that all that is fetched is of one
// state. It is no listing and no download and does not count. "" means that
// there is no such ref.
func (s *session) commit(ctx context.Context, a *address, ref string) (string, error) {
	u := s.base.JoinPath("repos", a.owner, a.repo, "commits", url.PathEscape(ref))
	res, err := s.get(ctx, u, "application/vnd.github+json")
	var status *statusError
	if errors.As(err, &status) && status.Code != "github.rate-limited" && status.Code != "github.unauthorised" {
		return "", nil // a mirror may not answer this at all
	}
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var body strings.Builder
	if _, err := readAll(res, &body, maxListing); err != nil {
		return "", err
	}
	var answer struct {
		SHA string `json:"sha"`
	}
	if err := json.Unmarshal([]byte(body.String()), &answer); err != nil || !isCommit(answer.SHA) {
		return "", nil
	}
	return answer.SHA, nil
}

func isCommit(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}
