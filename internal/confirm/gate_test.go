package confirm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// at is a clock that a test moves.
type at struct{ t time.Time }

func (a *at) now() time.Time { return a.t }

func newGate(t *testing.T, c Config) (*Gate, *at) {
	t.Helper()
	clock := &at{time.UnixMilli(1_800_000_000_000)}
	if c.Key == nil {
		c.Key = bytes.Repeat([]byte{7}, 32)
	}
	if c.Settings == (Settings{}) {
		c.Settings = Settings{Mode: AskUser, Prompts: true, TTL: time.Minute, Wait: time.Second}
	}
	c.Now = clock.now
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g, clock
}

func call(args ...string) Call {
	return Call{
		Tool: "skill_run", Action: "skill.run", Target: "demo/a.js",
		Details: map[string]any{"argv": args}, Args: map[string]any{"args": args},
	}
}

func want(t *testing.T, err error, code Code) {
	t.Helper()
	got, ok := Rejected(err)
	if !ok || got != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func token(t *testing.T, g *Gate, c Call) string {
	t.Helper()
	o, err := g.Offer(c, false)
	if err != nil {
		t.Fatal(err)
	}
	return o.Token
}

func TestOneApprovalActsOnce(t *testing.T) {
	g, _ := newGate(t, Config{})
	tok := token(t, g, call("x"))
	a, err := g.CheckToken(tok, call("x"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.CheckToken(tok, call("x"))
	if err != nil {
		t.Fatal("checking must not spend:", err)
	}
	if err := g.Spend(a); err != nil {
		t.Fatal(err)
	}
	want(t, g.Spend(b), TokenReused)
	_, err = g.CheckToken(tok, call("x"))
	want(t, err, TokenReused)
	want(t, g.Spend(Approval{}), TokenInvalid)
}

func TestChangedCallsAreDraftChangedAndKeepTheToken(t *testing.T) {
	g, _ := newGate(t, Config{})
	tok := token(t, g, call("x"))
	other := call("x")
	other.Target = "demo/b.js"
	shown, asked := call("x"), call("x")
	shown.Details, asked.Args = call("y").Details, call("y").Args
	for name, c := range map[string]Call{
		"arguments": call("y"), "more arguments": call("x", ""), "script": other, "only what is shown": shown, "only what is asked for": asked,
	} {
		_, err := g.CheckToken(tok, c)
		if code, _ := Rejected(err); code != DraftChanged {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := g.CheckToken(tok, call("x")); err != nil {
		t.Fatal("the token must stay valid for its own call:", err)
	}
}

func TestForeignTokensAreInvalid(t *testing.T) {
	g, _ := newGate(t, Config{})
	other, _ := newGate(t, Config{Key: bytes.Repeat([]byte{8}, 32)})
	good := token(t, g, call())
	state, err := g.Seal(call())
	if err != nil {
		t.Fatal(err)
	}
	foreignTool := call()
	foreignTool.Tool = "other"
	for name, tok := range map[string]string{
		"garbage": "anything", "empty": "", "prefix alone": tokenPrefix, "another key": token(t, other, call()),
		"a state": state, "a state behind a token's prefix": strings.Replace(state, statePrefix, tokenPrefix, 1), "another tool": token(t, g, foreignTool), "padded": good + "=", "cut": good[:len(good)-1],
		"changed": strings.Replace(good, ".v1.e", ".v1.f", 1), "second dot": good + ".x", "long": good + strings.Repeat("A", maxSealed),
	} {
		_, err := g.CheckToken(tok, call())
		if code, _ := Rejected(err); code != TokenInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = g.CheckState(good, call())
	want(t, err, TokenInvalid)
}

func TestExpiry(t *testing.T) {
	g, clock := newGate(t, Config{})
	tok := token(t, g, call())
	a, err := g.CheckToken(tok, call())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Spend(a); err != nil {
		t.Fatal(err)
	}
	unspent := token(t, g, call())
	clock.t = clock.t.Add(time.Minute + time.Millisecond)
	_, err = g.CheckToken(unspent, call())
	want(t, err, TokenExpired)
	_, err = g.CheckToken(tok, call())
	want(t, err, TokenExpired) // spent and expired reads as expired
	clock.t = clock.t.Add(-2 * time.Minute)
	_, err = g.CheckToken(tok, call())
	want(t, err, TokenExpired) // a clock set back frees nothing
	late := token(t, g, call())
	if a, err = g.CheckToken(late, call()); err != nil {
		t.Fatal(err)
	}
	clock.t = clock.t.Add(4 * time.Minute) // while the call waited for its turn
	want(t, g.Spend(a), TokenExpired)
}

func TestSpentApprovalsOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".mcp-confirm", "spent")
	first, _ := newGate(t, Config{Store: dir})
	tok := token(t, first, call())
	a, err := first.CheckToken(tok, call())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Spend(a); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("folder: %v %v", st, err)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	if st, err := entries[0].Info(); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("entry: %v %v", st, err)
	}
	second, clock := newGate(t, Config{Store: dir})
	_, err = second.CheckToken(tok, call())
	want(t, err, TokenReused)

	half := filepath.Join(dir, "halfWritten")
	if err := errors.Join(os.WriteFile(half, nil, 0o600), os.Chtimes(half, clock.t, clock.t)); err != nil {
		t.Fatal(err)
	}
	clock.t = clock.t.Add(time.Hour)
	if _, err := second.CheckToken("x", call()); err == nil {
		t.Fatal("accepted")
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || left[0].Name() != "halfWritten" {
		t.Fatalf("after pruning: %v", left)
	}
	// The files of an approved script's folder may be gone; this process remembers.
	again, _ := newGate(t, Config{Store: dir})
	tok = token(t, again, call())
	if a, err = again.CheckToken(tok, call()); err != nil {
		t.Fatal(err)
	}
	if err := again.Spend(a); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	_, err = again.CheckToken(tok, call())
	if err == nil {
		t.Fatal("accepted a second time")
	}
}

func TestAStoreThatCannotAnswerApprovesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g, _ := newGate(t, Config{Store: filepath.Join(file, "spent")})
	_, err := g.CheckToken(token(t, g, call()), call())
	if _, rejected := Rejected(err); err == nil || rejected {
		t.Fatalf("got %v, want an error that is no rejection", err)
	}
}

func TestOnlyOneOfManyRacesWins(t *testing.T) {
	for name, store := range map[string]string{"in memory": "", "in a folder": filepath.Join(t.TempDir(), "a", "spent")} {
		t.Run(name, func(t *testing.T) { race(t, store) })
	}
	// Two servers that share a folder share no memory.
	d := &directory{path: t.TempDir()}
	other := &directory{path: d.path}
	for i, s := range []*directory{d, other} {
		if first, err := s.claim("nonce", time.Now()); err != nil || first != (i == 0) {
			t.Errorf("claim %d: first %v, %v", i, first, err)
		}
		defer s.close()
	}
}

// race spends one approval from many goroutines. All have checked it before
// the first spends it.
func race(t *testing.T, store string) {
	g, _ := newGate(t, Config{Store: store})
	tok := token(t, g, call())
	var wg, checked sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	checked.Add(16)
	for range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a, err := g.CheckToken(tok, call())
			checked.Done()
			checked.Wait()
			if err == nil && g.Spend(a) == nil {
				mu.Lock()
				wins++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if wins != 1 {
		t.Fatalf("%d won", wins)
	}
}

func TestNoLifetimeMeansNoToken(t *testing.T) {
	g, _ := newGate(t, Config{Settings: Settings{Mode: AskUser, Prompts: true}})
	if _, err := g.Offer(call(), false); err == nil {
		t.Fatal("a token without a lifetime")
	}
	if _, err := g.Seal(call()); err != nil {
		t.Fatal("a prompt needs no variable:", err)
	}
}

func TestAGateNeedsAWholeKey(t *testing.T) {
	if _, err := New(Config{Key: []byte("short")}); err == nil {
		t.Fatal("accepted")
	}
}

func FuzzSealed(f *testing.F) {
	key := bytes.Repeat([]byte{1}, 32)
	good, err := seal(key, tokenPrefix, claims{Tool: "skill_run", Target: "a/b", Hash: "h", Expiry: 1, Nonce: "n"})
	if err != nil {
		f.Fatal(err)
	}
	state, err := seal(key, statePrefix, claims{Tool: "skill_run", Expiry: 1, Nonce: "n"})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{good, state, "", tokenPrefix, tokenPrefix + ".", tokenPrefix + "e30.AAAA", good + "\n", "x" + good} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, prefix := range []string{tokenPrefix, statePrefix} {
			c, err := open(key, prefix, text)
			if err != nil {
				if !errors.Is(err, errNotOurs) {
					t.Fatalf("another error: %v", err)
				}
				continue
			}
			again, err := seal(key, prefix, c)
			if err != nil || again != text {
				t.Fatalf("accepted %q, which is written %q (%v)", text, again, err)
			}
		}
	})
}

// TestADoubtedStore: a script may have taken the records of used approvals away.
// Without the doubt the approval acts again, which is what the test is about.
func TestADoubtedStore(t *testing.T) {
	call := Call{Tool: "skill_run", Target: "a/b"}
	make32 := func(store string) *Gate {
		g, err := New(Config{Settings: Settings{Mode: AskUser, TTL: time.Hour}, Key: make([]byte, 32), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	token := func(g *Gate) string {
		o, err := g.Offer(call, false)
		if err != nil {
			t.Fatal(err)
		}
		return o.Token
	}
	use := func(g *Gate, token string) Code {
		a, err := g.CheckToken(token, call)
		if err == nil {
			err = g.Spend(a)
		}
		code, rejected := Rejected(err)
		if err != nil && !rejected {
			t.Fatal(err)
		}
		return code
	}
	store := filepath.Join(t.TempDir(), "spent")
	first := make32(store)
	used := token(first)
	if code := use(first, used); code != "" {
		t.Fatalf("the first use: %s", code)
	}
	records, err := filepath.Glob(filepath.Join(store, "*"))
	if err != nil || len(records) != 1 || os.Remove(records[0]) != nil {
		t.Fatalf("the records: %v %v", records, err)
	}
	if code := use(first, used); code != TokenReused {
		t.Errorf("the gate that saw it used: %q", code)
	}
	doubting := make32(store)
	doubting.Doubt()
	if code := use(doubting, used); code != TokenInvalid {
		t.Errorf("after a restart: %q", code)
	}
	own := token(doubting)
	if a, b := use(doubting, own), use(doubting, own); a != "" || b != TokenReused {
		t.Errorf("its own: %q, then %q", a, b)
	}
	if code := use(make32(store), used); code != "" {
		t.Errorf("the attack does not work without the doubt: %q", code)
	}
	alone := make32("")
	alone.Doubt()
	if code := use(alone, token(make32(""))); code != "" {
		t.Errorf("a gate without a folder: %q", code)
	}
}
