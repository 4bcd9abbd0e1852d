//go:build unix

package specialist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"skill-mcp/internal/store"
)

// TestMain lets the tests run themselves again: as a change that dies at a step.
func TestMain(m *testing.M) {
	if os.Getenv("SPECIALIST_TEST_STORE") != "" {
		if err := changeAndDie(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(4)
		}
		return
	}
	os.Exit(m.Run())
}

// changeAndDie installs a candidate or deletes a specialist, and dies at the
// step whose number the environment gives.
func changeAndDie() error {
	s, err := store.Open(os.Getenv("SPECIALIST_TEST_STORE"))
	if err != nil {
		return err
	}
	shelf := &Shelf{Store: s, Into: os.Getenv("SPECIALIST_TEST_INTO"), Owner: "me", App: "1.2.3"}
	n, err := strconv.Atoi(os.Getenv("SPECIALIST_TEST_DIE_AT"))
	if err != nil {
		return err
	}
	r := Request{Token: "", ConfirmOverwrite: true, Resolutions: []Resolution{{"theirs", UseIncoming}}}
	if source := os.Getenv("SPECIALIST_TEST_SOURCE"); source != "" {
		p, err := shelf.Preview(context.Background(), source)
		if err != nil {
			return err
		}
		r.Token = p.Token
	}
	s.Step = func(string) {
		if n--; n < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if r.Token == "" {
		_, err = shelf.Delete(context.Background(), DeleteRequest{ID: "rev", ExpectedRevision: 1, DeleteSkillIDs: []string{"lint"}})
		return err
	}
	_, err = shelf.Install(context.Background(), r)
	return err
}

func (b *bench) dieAt(step int, source string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SPECIALIST_TEST_STORE="+b.Store.Dir(), "SPECIALIST_TEST_INTO="+b.Into,
		"SPECIALIST_TEST_SOURCE="+source, "SPECIALIST_TEST_DIE_AT="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled()) {
		b.t.Fatalf("step %d: %v %s", step, err, out)
	}
	return err
}

// whole is the state of skills and record as one word each: old, new or gone.
func (b *bench) whole() string {
	out := ""
	if r, err := b.Get("rev"); err == nil {
		out = fmt.Sprintf("revision %d:", r.Revision)
	}
	for _, id := range []string{"lint", "theirs", "fresh"} {
		text := b.body(id)
		out += " " + text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	}
	return strings.ReplaceAll(out, "\n", "")
}

func (b *bench) leftovers() string {
	out := ""
	for _, dir := range []string{b.Into, b.Store.Dir(), filepath.Join(b.Store.Dir(), candidateFolder)} {
		if _, err := os.Lstat(filepath.Join(dir, store.WorkFolder)); err == nil {
			out += dir + " "
		}
	}
	if entries, err := os.ReadDir(filepath.Join(b.Store.Dir(), "journal")); err == nil && len(entries) > 0 {
		out += fmt.Sprint(entries)
	}
	return out
}

// recovered takes the lock once, as the next command does.
func (b *bench) recovered() {
	b.t.Helper()
	l, err := b.Store.Lock(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	l.Unlock()
}

// before is a store with a specialist, a skill of its own and one that another
// owns, which the next version replaces.
func before(t *testing.T) *bench {
	b := newBench(t)
	b.install(good(skill("lint", "old")...).zip())
	b.install(good(skill("theirs", "old")...).m("id", "two").p("name", "Two").zip())
	return b
}

// Skills and record change together or not at all, wherever the process dies.
func TestAKillAtAnyStepOfAnInstall(t *testing.T) {
	const old, fresh = "revision 1: old old -", "revision 2: old new new"
	saw := map[string]int{}
	for step := 0; ; step++ {
		b := before(t)
		data := good(append(append(skill("lint", "old"), skill("theirs", "new")...), skill("fresh", "new")...)...).m("version", "2.0.0").zip()
		died := b.dieAt(step, b.file(data))
		b.recovered()
		got := b.whole()
		saw[got]++
		if got != old && got != fresh || b.leftovers() != "" {
			t.Errorf("killed at step %d: %q, left over %q", step, got, b.leftovers())
		}
		if died == nil {
			if got != fresh {
				t.Errorf("the whole install gave %q", got)
			}
			break
		}
	}
	if saw[old] < 5 || saw[fresh] < 2 {
		t.Errorf("the kills did not hit both sides: %v", saw)
	}
}

func TestAKillAtAnyStepOfADelete(t *testing.T) {
	const old, gone = "revision 1: old old -", " - old -"
	saw := map[string]int{}
	for step := 0; ; step++ {
		b := before(t)
		died := b.dieAt(step, "")
		b.recovered()
		got := b.whole()
		saw[got]++
		if got != old && got != gone || b.leftovers() != "" {
			t.Errorf("killed at step %d: %q, left over %q", step, got, b.leftovers())
		}
		if died == nil {
			break
		}
	}
	if saw[old] < 3 || saw[gone] < 2 {
		t.Errorf("the kills did not hit both sides: %v", saw)
	}
}

// A change that fails while it is carried out is undone at once, and says so.
func TestAFailedChangeIsUndone(t *testing.T) {
	b := before(t)
	p := b.preview(good(skill("fresh", "new")...).m("version", "2.0.0").zip())
	b.Store.Step = func(name string) {
		if name == "sync" { // somebody puts a skill where one shall go
			b.byHand("fresh", "foreign")
		}
	}
	got := b.request(Request{Token: p.Token, ConfirmOverwrite: true})
	b.Store.Step = nil
	if got != CodeCommitFailed || b.whole() != "revision 1: old old foreign" || b.leftovers() != "" {
		t.Errorf("%s: %q %s", got, b.whole(), b.leftovers())
	}
}
