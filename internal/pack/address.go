package pack

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"skill-mcp/internal/archive"
)

// address is a place on GitHub: https://github.com/owner/repo, alone or with
// /tree/ref/path or /blob/ref/path. A ref may itself hold slashes, so what
// follows tree stays in one piece until GitHub has been asked.
type address struct {
	owner, repo string
	rest        []string // ref and path
	blob        bool     // the path is a file; its folder is meant
}

const addressHint = "give https://github.com/owner/repo or https://github.com/owner/repo/tree/ref/path"

var (
	ownerRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,38})$`) })
	repoRule  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`) })
)

func parseAddress(unsafe string) (*address, error) {
	bad := func(why string) (*address, error) {
		return nil, refuse("github.address", addressHint, "the address %s %s", archive.Shown(unsafe), why)
	}
	u, err := url.Parse(unsafe)
	switch {
	case err != nil:
		return bad("cannot be read")
	case u.Scheme != "https":
		return bad("is not https")
	case u.User != nil:
		return nil, refuse("github.address", addressHint, "the address holds a user name or password; it is not used and not repeated here")
	case !strings.EqualFold(u.Host, "github.com"):
		return bad("is not on github.com")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return bad("holds a query or a fragment")
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 2 {
		return bad("names no repository")
	}
	a := &address{owner: parts[0], repo: strings.TrimSuffix(parts[1], ".git")}
	if !ownerRule().MatchString(a.owner) || !repoRule().MatchString(a.repo) || a.repo == "." || a.repo == ".." {
		return bad("names no repository")
	}
	if len(parts) == 2 {
		return a, nil
	}
	if parts[2] != "tree" && parts[2] != "blob" || len(parts) < 4 {
		return bad("is neither a repository nor a folder (tree) or file (blob) in one")
	}
	a.rest, a.blob = parts[3:], parts[2] == "blob"
	if p := archive.CheckName(strings.Join(a.rest, "/")); p != nil {
		return bad("has an unusable path: " + p.Detail)
	}
	if a.blob && len(a.rest) < 2 {
		return bad("names no file")
	}
	return a, nil
}

// split takes the first n parts as the ref; the path is the folder meant.
func (a *address) split(n int) (ref, folder string) {
	parts := a.rest[n:]
	if a.blob && len(parts) > 0 {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(a.rest[:n], "/"), strings.Join(parts, "/")
}
