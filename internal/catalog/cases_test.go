package catalog

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wantCase is the part of an expected.json that a scan and reads can answer.
type wantCase struct {
	Roots        []string
	RootsText    string
	Skills       []wantSkill
	InOrder      bool
	Problems     []wantProblem
	ProblemOrder []string
	EitherWay    []struct {
		Name, Path string
		Reasons    []string
	}
	IfRoot, IfUser *wantCase
	Read           []struct {
		Skill string
		Paths []string
		Want  []wantRead
	}
}

type wantSkill struct {
	Name          string
	Description   json.RawMessage
	WhenToUse     json.RawMessage
	Source        *string
	Files         *int
	Bytes         *int64
	Body          *string
	BodyFrom      *slice
	BodyTruncated *bool
	Manifest      []string
	Egress        []string
	Scripts       []struct {
		Script, Interpreter string
		TimeoutMs           *int
		Env                 []string
	}
}

type slice struct {
	File       string
	Start, End int
}

type wantProblem struct {
	Reason        string
	Path          any
	PathMatches   string
	PathIsRoots   bool
	Mentions      any
	DetailMatches any
	Min, Max      *int
}

type wantRead struct {
	Text                 *string
	TextFrom, Base64From *slice
	Error                string
	Size                 *int64
	MediaType            *string
	Truncated            *bool
}

// TestSharedCases scans a folder of cases (SKILL_MCP_CASES), each with skill
// roots and an expected.json. What only a running server can answer is left to
// the runner of that folder.
func TestSharedCases(t *testing.T) {
	folder := os.Getenv("SKILL_MCP_CASES")
	if folder == "" {
		t.Skip("not run: SKILL_MCP_CASES names no folder of cases")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "expected.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", folder, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) { runCase(t, filepath.Dir(f)) })
	}
}

// caseRun is one case in its copy.
type caseRun struct {
	t     *testing.T
	dir   string
	want  wantCase
	roots []string
	got   *Catalog
}

func runCase(t *testing.T, folder string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &caseRun{t: t, dir: filepath.Join(dir, "case")}
	if err := os.CopyFS(c.dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "setup.sh")); err == nil {
		cmd := exec.Command("sh", "setup.sh")
		cmd.Dir = c.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("setup.sh: %v: %s", err, out)
		}
	}
	src, err := os.ReadFile(filepath.Join(c.dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, &c.want); err != nil {
		t.Fatal(err)
	}
	extra := c.want.IfUser
	if os.Geteuid() == 0 {
		extra = c.want.IfRoot
	}
	if extra != nil {
		c.want.Problems = append(c.want.Problems, extra.Problems...)
		c.want.Skills = append(c.want.Skills, extra.Skills...)
		c.want.EitherWay = append(c.want.EitherWay, extra.EitherWay...)
	}
	if c.want.RootsText != "" {
		t.Skip("not run: the roots are in the configuration's own words")
	}
	if c.want.Roots == nil {
		c.want.Roots = []string{"root"}
	}
	for _, r := range c.want.Roots {
		if r != "" {
			c.roots = append(c.roots, filepath.Join(c.dir, r))
		}
	}
	c.got = Scan(context.Background(), Options{Roots: c.roots})
	c.skills()
	c.problems()
	c.reads()
}

func (c *caseRun) skills() {
	var names []string
	for _, s := range c.got.Skills {
		names = append(names, s.Name)
	}
	var wanted []string
	for _, w := range c.want.Skills {
		wanted = append(wanted, w.Name)
	}
	for _, e := range c.want.EitherWay {
		if k := slices.Index(names, e.Name); k >= 0 && !slices.Contains(wanted, e.Name) {
			names = slices.Delete(names, k, k+1)
		}
	}
	if !c.want.InOrder {
		slices.Sort(names)
		slices.Sort(wanted)
	}
	if !slices.Equal(names, wanted) {
		c.t.Errorf("skills: got %q, want %q", names, wanted)
	}
	for _, w := range c.want.Skills {
		if s := c.got.Skill(w.Name); s != nil {
			c.skill(s, w)
		}
	}
}

func (c *caseRun) text(what string, want json.RawMessage, got *string) {
	if want == nil {
		return
	}
	b, _ := json.Marshal(got)
	var x, y *string
	_ = json.Unmarshal(want, &x)
	_ = json.Unmarshal(b, &y)
	if (x == nil) != (y == nil) || x != nil && *x != *y {
		c.t.Errorf("%s: got %s, want %s", what, b, want)
	}
}

func (c *caseRun) skill(s *Skill, w wantSkill) {
	c.text(s.Name+" description", w.Description, s.Description)
	c.text(s.Name+" whenToUse", w.WhenToUse, s.WhenToUse)
	if w.Source != nil && s.Source != filepath.Join(c.dir, *w.Source) {
		c.t.Errorf("%s source: %s", s.Name, s.Source)
	}
	if w.Files != nil && len(s.Files()) != *w.Files {
		c.t.Errorf("%s: %d files, want %d", s.Name, len(s.Files()), *w.Files)
	}
	if w.Bytes != nil && s.Bytes() != *w.Bytes {
		c.t.Errorf("%s: %d bytes, want %d", s.Name, s.Bytes(), *w.Bytes)
	}
	if w.Body != nil && s.Body != *w.Body {
		c.t.Errorf("%s body: got %q, want %q", s.Name, s.Body, *w.Body)
	}
	if w.BodyFrom != nil && s.Body != string(c.slice(w.BodyFrom)) {
		c.t.Errorf("%s body: %d bytes, want %d", s.Name, len(s.Body), len(c.slice(w.BodyFrom)))
	}
	if w.BodyTruncated != nil && s.BodyTruncated != *w.BodyTruncated {
		c.t.Errorf("%s truncated: %v", s.Name, s.BodyTruncated)
	}
	if w.Manifest != nil {
		var paths []string
		for _, f := range s.Files() {
			paths = append(paths, f.Path)
		}
		if !slices.Equal(paths, w.Manifest) {
			c.t.Errorf("%s manifest: got %q, want %q", s.Name, paths, w.Manifest)
		}
	}
	if w.Egress != nil && !slices.Equal(w.Egress, s.Declaration.Egress) {
		c.t.Errorf("%s egress: %q", s.Name, s.Declaration.Egress)
	}
	c.scripts(s, w)
}

func (c *caseRun) scripts(s *Skill, w wantSkill) {
	for _, ws := range w.Scripts {
		k := slices.IndexFunc(s.Declaration.Scripts, func(x Script) bool { return x.Path == ws.Script })
		if k < 0 {
			c.t.Errorf("%s: script %q is not declared", s.Name, ws.Script)
			continue
		}
		x := s.Declaration.Scripts[k]
		if x.Interpreter != ws.Interpreter || ws.TimeoutMs != nil && x.TimeoutMs != *ws.TimeoutMs {
			c.t.Errorf("%s: got %+v, want %+v", s.Name, x, ws)
		}
	}
	if w.Scripts != nil && len(w.Scripts) == 0 && len(s.Declaration.Scripts) > 0 {
		c.t.Errorf("%s: scripts %+v", s.Name, s.Declaration.Scripts)
	}
}

func (c *caseRun) slice(s *slice) []byte {
	b, err := os.ReadFile(filepath.Join(c.dir, s.File))
	if err != nil {
		c.t.Fatal(err)
	}
	if s.End > 0 {
		b = b[:s.End]
	}
	return b[s.Start:]
}

// problems matches each expected problem with one that was reported.
func (c *caseRun) problems() {
	left := slices.Clone(c.got.Problems)
	for _, w := range c.want.Problems {
		if w.Reason == GrantProblem {
			continue
		}
		k := slices.IndexFunc(left, func(p Problem) bool { return c.fits(w, p) })
		if k >= 0 {
			left = slices.Delete(left, k, k+1)
		} else if w.Min == nil || *w.Min > 0 {
			c.t.Errorf("problem missing: %+v", w)
		}
	}
	for _, p := range left {
		if !slices.ContainsFunc(c.want.EitherWay, func(e struct {
			Name, Path string
			Reasons    []string
		}) bool {
			return strings.HasSuffix(p.Path, "/"+e.Path) && slices.Contains(e.Reasons, p.Reason)
		}) {
			c.t.Errorf("problem not expected: %+v", p)
		}
	}
	var order []string
	for _, p := range c.got.Problems {
		if slices.Contains(c.want.ProblemOrder, p.Reason) && (len(order) == 0 || order[len(order)-1] != p.Reason) {
			order = append(order, p.Reason)
		}
	}
	if c.want.ProblemOrder != nil && !slices.Equal(order, c.want.ProblemOrder) {
		c.t.Errorf("order of problems: got %q, want %q", order, c.want.ProblemOrder)
	}
}

func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, x.(string))
		}
		return out
	}
	return nil
}

func (c *caseRun) fits(w wantProblem, p Problem) bool {
	if w.Reason != p.Reason || w.PathIsRoots && p.Path != strings.Join(c.roots, ":") {
		return false
	}
	if paths := texts(w.Path); paths != nil && !slices.ContainsFunc(paths, func(s string) bool { return strings.HasSuffix(p.Path, "/"+s) }) {
		return false
	}
	if w.PathMatches != "" && !regexp.MustCompile(w.PathMatches).MatchString(p.Path) {
		return false
	}
	for _, m := range texts(w.Mentions) {
		if !strings.Contains(p.Path, m) && !strings.Contains(p.Detail, m) {
			return false
		}
	}
	for _, m := range texts(w.DetailMatches) {
		if !regexp.MustCompile(m).MatchString(p.Detail) {
			return false
		}
	}
	return true
}

func (c *caseRun) reads() {
	for _, r := range c.want.Read {
		s := c.got.Skill(r.Skill)
		if s == nil {
			continue
		}
		got, err := s.ReadBatch(r.Paths)
		if err != nil {
			c.t.Errorf("read %q: %v", r.Paths, err)
			continue
		}
		for i, w := range r.Want {
			c.read(got[i], w)
		}
	}
}

func (c *caseRun) read(got Content, w wantRead) {
	if w.Error != "" {
		if got.Err == nil || !regexp.MustCompile(w.Error).MatchString(got.Err.Error()) {
			c.t.Errorf("%s: error %v, want %s", got.Path, got.Err, w.Error)
		}
		var refused *Refused
		if got.Err != nil && !errors.As(got.Err, &refused) && Hint(got.Err) == "" {
			c.t.Errorf("%s: no hint", got.Path)
		}
		return
	}
	want, encoding := "", EncodingText
	switch {
	case w.Text != nil:
		want = *w.Text
	case w.TextFrom != nil:
		want = string(c.slice(w.TextFrom))
	case w.Base64From != nil:
		want, encoding = base64.StdEncoding.EncodeToString(c.slice(w.Base64From)), EncodingBase64
	}
	if got.Content() != want || got.Encoding != encoding {
		c.t.Errorf("%s: %d bytes of %s, want %d of %s (%v)", got.Path, len(got.Content()), got.Encoding, len(want), encoding, got.Err)
	}
	if w.Size != nil && got.Size != *w.Size || w.MediaType != nil && got.MediaType != *w.MediaType || w.Truncated != nil && got.Truncated != *w.Truncated {
		c.t.Errorf("%s: size %d, type %s, truncated %v; want %+v", got.Path, got.Size, got.MediaType, got.Truncated, w)
	}
}
