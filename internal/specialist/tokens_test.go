package specialist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestC26Tokens(t *testing.T) {
	b := newBench(t)
	data := good().zip()
	p := b.preview(data)
	if got := b.request(Request{Token: p.Token}); got != "" {
		t.Fatal(got)
	}
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error("used:", got)
	}
	p = b.preview(data)
	b.clock = b.clock.Add(10 * time.Minute)
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeCandidateExpired {
		t.Error("old:", got)
	}
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error("forgotten:", got)
	}
	p = b.preview(data)
	b.Owner = "somebody else"
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error("another owner:", got)
	}
	b.Owner = "me"
	other := b.preview(data)
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error("an older preview:", got)
	}
	if got := b.request(Request{Token: strings.Repeat("a", 64), ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error("random:", got)
	}
	b.clock = b.clock.Add(10*time.Minute - time.Second)
	if got := b.request(Request{Token: other.Token, ConfirmOverwrite: true}); got != "" {
		t.Error("just in time:", got)
	}
}

// The exact bytes are installed, whatever becomes of the file meanwhile.
func TestTheBytesOfThePreviewAreInstalled(t *testing.T) {
	b := newBench(t)
	file := b.file(good(skill("lint", "seen")...).zip())
	p := b.previewOf(file)
	if err := os.WriteFile(file, good(skill("lint", "unseen")...).zip(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := b.request(Request{Token: p.Token}); got != "" || !strings.Contains(b.body("lint"), "seen") || strings.Contains(b.body("lint"), "unseen") {
		t.Error(got, b.body("lint"))
	}
	p = b.preview(good().zip())
	name := filepath.Join(b.Store.Dir(), candidateFolder, ownerID("me"), candidateFile)
	if err := os.WriteFile(name, good().p("description", "Forged.").zip(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeStaleCandidate {
		t.Error(got)
	}
}

func TestC28RequestsOfAnotherShape(t *testing.T) {
	for _, text := range []string{
		`{"candidateToken":"x","extra":1}`, `{"candidateToken":1}`, `{"candidateToken":""}`, `{}`, `[]`, `null`, `x`, `{"CandidateToken":"x"}`,
		`{"candidateToken":"x","candidateToken":"y"}`, `{"candidateToken":"x"} ` + "x", `{"candidateToken":"x","skillConflictResolutions":null}`,
		`{"candidateToken":"x","skillConflictResolutions":[{}]}`, `{"candidateToken":"x","skillConflictResolutions":[{"skillId":"a","resolution":"use-incoming","x":1}]}`,
		`{"candidateToken":"x","skillConflictResolutions":[{"skillId":"a","resolution":"x"}]}`, `{"candidateToken":"x","skillConflictResolutions":["a"]}`,
	} {
		if _, err := ParseRequest([]byte(text)); codeOf(err) != CodeCandidateInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestProtectedTargetAtTheInstall(t *testing.T) {
	b := newBench(t)
	p := b.preview(good().zip())
	b.BuiltInIDs = []string{"rev"}
	if got := b.request(Request{Token: p.Token}); got != CodeProtectedTarget || b.tree() != "" {
		t.Error(got)
	}
}
