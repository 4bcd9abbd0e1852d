package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestCheckPath(t *testing.T) {
	for _, p := range []string{"a", "a/b", ".x", "a b", " a", "C:", "é/\U0001F4CE.md", "-x", "a\nb", strings.Repeat("é", 1024), "..."} {
		if err := CheckPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for p, why := range map[string]string{
		"": "empty", "/a": "empty segment", "a/": "empty segment", "a//b": "empty segment", "./a": `"." segment`, "a/../b": `".." segment`,
		`a\b`: "backslash", "a%20": `"%"`, "a\x00": "NUL", "a/ /b": "blanks", strings.Repeat("a", 1025): "1024", strings.Repeat("\U0001F4CE", 513): "1024", "a\xff": "UTF-8",
	} {
		err := CheckPath(p)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "is not usable") || !strings.Contains(Hint(err), "relative to the skill") {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestInside(t *testing.T) {
	dir := filepath.FromSlash("/srv/skills")
	for path, want := range map[string]bool{
		"/srv/skills": true, "/srv/skills/a": true, "/srv/skills/a/b": true,
		"/srv/skills2": false, "/srv/skillsa/b": false, "/srv": false, "/": false, "/srv/skill": false, "": false,
	} {
		if got := inside(dir, filepath.FromSlash(path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if root := string(filepath.Separator); !inside(root, filepath.FromSlash("/srv")) {
		t.Error("nothing lies in the root")
	}
}

func TestMediaType(t *testing.T) {
	for path, want := range map[string]string{
		"a.md": "text/markdown", "A.MD": "text/markdown", "x/y.tar.json": "application/json", "md": "application/octet-stream", "a.b/md": "application/octet-stream",
		"x.constructor": "application/octet-stream", "x.": "application/octet-stream", ".md": "text/markdown", "a.mjs": "text/javascript",
	} {
		if got := MediaType(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestReadDecidesBetweenTextAndBytes(t *testing.T) {
	for _, c := range []struct {
		name, content string
		limit         int64
		encoding      string
		want          string
		truncated     bool
	}{
		{"text", "héllo", 100, EncodingText, "héllo", false},
		{"nothing", "", 100, EncodingText, "", false},
		{"text of the limit's length", "abc", 3, EncodingText, "abc", false},
		{"text cut", "abcd", 3, EncodingText, "abc", true},
		{"text cut inside a character", "ab\U0001F4CE", 5, EncodingText, "ab", true},
		{"a byte order mark", "\ufeffx", 100, EncodingText, "\ufeffx", false},
		{"NUL", "a\x00b", 100, EncodingBase64, "a\x00b", false},
		{"not UTF-8", "a\xffb", 100, EncodingBase64, "a\xffb", false},
		{"half a character at the end of the file", "ab\xe3\x81", 100, EncodingBase64, "ab\xe3\x81", false},
		{"bytes cut behind half a character", "ab\xe3cd", 3, EncodingBase64, "ab\xe3", true},
		{"bytes cut", "\xff\xff\xff\xff", 3, EncodingBase64, "\xff\xff\xff", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/x.txt": c.content})
			got := scan(dir).Skill("a").Read("x.txt", c.limit)
			want := c.want
			if c.encoding == EncodingBase64 {
				want = base64.StdEncoding.EncodeToString([]byte(want))
			}
			if got.Err != nil || got.Content() != want || got.Encoding != c.encoding || got.Truncated != c.truncated || got.Size != int64(len(c.content)) || (got.Note != "") != c.truncated {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestABatchIsPlannedBeforeAnythingIsRead(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/mib": strings.Repeat("x", MaxRead), "a/big": strings.Repeat("y", MaxRead+5), "a/one": "1"})
	s := scan(dir).Skill("a")
	if got, err := s.ReadBatch([]string{"mib", "big", "mib", "big"}); err != nil || len(got) != 4 || !got[1].Truncated || got[3].Data != got[1].Data {
		t.Errorf("exactly the limit: %v", err)
	}
	if _, err := s.ReadBatch([]string{"mib", "mib", "mib", "mib", "one"}); err == nil || !strings.Contains(err.Error(), "over this call's 4194304-byte limit") || Hint(err) == "" {
		t.Errorf("one byte more: %v", err)
	}
	for _, n := range []int{0, MaxPaths + 1} {
		if _, err := s.ReadBatch(make([]string, n)); err == nil {
			t.Errorf("%d paths are taken", n)
		}
	}
}

// encoded writes JSON as the server does, without the escapes of HTML.
func encoded(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestABatchFitsAMessageWhateverItsCharacters(t *testing.T) {
	for name, unit := range map[string]string{"control": "\x01", "quotes": `"`, "backslashes": `\`, "line ends": "\n", "separators": "\u2028", "letters": "a", "wide": "語", "html": "<"} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a/SKILL.md": good("a")}
			var paths []string
			for i := range 4 {
				path := fmt.Sprintf("f%d", i)
				files["a/"+path] = strings.Repeat(unit, MaxRead/len(unit))
				paths = append(paths, path)
			}
			got, err := scan(plant(t, files)).Skill("a").ReadBatch(paths)
			if err != nil {
				t.Fatal(err)
			}
			var sent []any
			for _, c := range got {
				content := c.Content()
				c.Data = ""
				sent = append(sent, c, content)
			}
			if n := len(encoded(t, encoded(t, sent))); n > 8<<20 {
				t.Errorf("%d bytes", n)
			}
			if got[0].Encoding == EncodingBase64 && (unit == "a" || unit == "語" || unit == "<") {
				t.Error("plain text was turned into base64")
			}
			for i, c := range got {
				if c.Data != files["a/"+paths[i]] {
					t.Errorf("%s: content lost", paths[i])
				}
			}
		})
	}
}

func TestReadingAHugeFileTakesLittleMemory(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a")})
	f, err := os.Create(filepath.Join(dir, "a", "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 36); err != nil {
		t.Skipf("not run: %v", err)
	}
	_ = f.Close()
	s := scan(dir).Skill("a")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := s.Read("huge", MaxRead)
	runtime.ReadMemStats(&after)
	if got.Err != nil || got.Size != 1<<36 || !got.Truncated {
		t.Errorf("size %d, %v", got.Size, got.Err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

// digestOf writes the definition of a digest down a second time.
func digestOf(t *testing.T, dir string, paths ...string) string {
	t.Helper()
	h := sha256.New()
	for _, p := range paths {
		b, err := os.ReadFile(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s\x00%d\x00%x\n", p, len(b), sha256.Sum256(b))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestDigest(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/b/x.js": "1", "a/b.js": "22", "a/z%.md": "333"})
	a := filepath.Join(dir, "a")
	s := scan(dir).Skill("a")
	check := func(paths ...string) {
		t.Helper()
		for range 2 {
			if got, err := s.Digest(t.Context()); err != nil || got != digestOf(t, a, paths...) {
				t.Fatalf("got %s, %v", got, err)
			}
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(a, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check("SKILL.md", "b.js", "b/x.js", "z%.md")
	for i := range 20 { // changes of the same size, as fast as they come
		write("b/x.js", string(rune('a'+i)))
		check("SKILL.md", "b.js", "b/x.js", "z%.md")
	}
	write("new.js", "added behind the scan's back")
	check("SKILL.md", "b.js", "b/x.js", "new.js", "z%.md")
	before, _ := s.Digest(t.Context())
	if err := os.Symlink("b.js", filepath.Join(a, "link.js")); err != nil {
		t.Fatal(err)
	}
	linked, _ := s.Digest(t.Context())
	_ = os.Remove(filepath.Join(a, "link.js"))
	if err := os.Symlink("new.js", filepath.Join(a, "link.js")); err != nil {
		t.Fatal(err)
	}
	turned, err := s.Digest(t.Context())
	if err != nil || before == linked || linked == turned {
		t.Errorf("a link that is turned elsewhere leaves the digest as it was: %v", err)
	}
}

func TestHashesOfSettledFilesAreKept(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/x": "1"})
	s := scan(dir).Skill("a")
	if _, err := s.Digest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.hashes.sums); n != 0 {
		t.Errorf("%d hashes of files that were written just now are kept", n)
	}
	f, err := os.Open(filepath.Join(dir, "a", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	id := identity(info)
	if id == (fileID{}) {
		t.Skip("not run: this system gives files no identity")
	}
	later := id
	later.ctime -= int64(time.Hour)
	s.hashes.sums[later] = "kept"
	if sum, ok := s.hashes.get(later); !ok || sum != "kept" {
		t.Error("a kept hash is not found")
	}
	if _, ok := s.hashes.get(id); ok {
		t.Error("the hash of another time is taken")
	}
}

func TestResourceDigestsAreOverTheBytesServed(t *testing.T) {
	dir := plant(t, map[string]string{"a/docs/real.md": good("a"), "a/SKILL.md": "->docs/real.md", "a/long.txt": strings.Repeat("é", MaxRead), "a/x.bin": "\x00\x01"})
	s := scan(dir).Skill("a")
	all, dynamic := s.ResourceDigests(t.Context())
	if dynamic || len(all) != 4 {
		t.Fatalf("dynamic %v, %+v", dynamic, all)
	}
	for _, d := range all {
		c := s.Read(d.Path, MaxRead)
		served := []byte(c.Data)
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(served)); d.Digest != want || d.Size != int64(len(served)) {
			t.Errorf("%s: %+v, want %s of %d", d.Path, d, want, len(served))
		}
	}
	if sum, err := s.ScriptDigest(t.Context(), "x.bin"); err != nil || sum != fmt.Sprintf("%x", sha256.Sum256([]byte("\x00\x01"))) {
		t.Errorf("script digest %s, %v", sum, err)
	}
	many := map[string]string{"a/SKILL.md": good("a")}
	for i := range maxResourceFiles {
		many[fmt.Sprintf("a/f%d", i)] = ""
	}
	if _, dynamic := scan(plant(t, many)).Skill("a").ResourceDigests(t.Context()); !dynamic {
		t.Error("513 files are digested one by one")
	}
}
