//go:build unix

package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"skill-mcp/internal/archive/ziptest"
	"skill-mcp/internal/store"
)

// TestMain lets the tests run themselves again: as an import that dies at a
// step, or as one that only imports.
func TestMain(m *testing.M) {
	if os.Getenv("PACK_TEST_SOURCE") != "" {
		importAndExit()
		return
	}
	os.Exit(m.Run())
}

// importAndExit previews and applies a bundle, replacing what it can, and dies
// at the step whose number the environment gives.
func importAndExit() {
	s, err := store.Open(os.Getenv("PACK_TEST_STORE"))
	if err != nil {
		os.Exit(3)
	}
	im := &Importer{Store: s, Into: os.Getenv("PACK_TEST_INTO"), Owner: "pid " + strconv.Itoa(os.Getpid()), Version: "test"}
	ctx := context.Background()
	if os.Getenv("PACK_TEST_ONLY_PREVIEW") != "" {
		p, err := im.Preview(ctx, os.Getenv("PACK_TEST_SOURCE"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(4)
		}
		status, _ := os.ReadFile("/proc/self/status")
		fmt.Printf("candidates %d\n%s", len(p.Candidates), status)
		return
	}
	for range 200 {
		err = importOnce(ctx, im)
		if code := codeOf(err); code != CodeCatalogChanged {
			break // another process was faster: look again
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
}

func importOnce(ctx context.Context, im *Importer) error {
	p, err := im.Preview(ctx, os.Getenv("PACK_TEST_SOURCE"))
	if err != nil {
		return err
	}
	choices := []Choice{}
	for _, c := range p.Candidates {
		choices = append(choices, Choice{Path: c.Path, ReplaceID: c.ReplaceableID})
	}
	if at := os.Getenv("PACK_TEST_DIE_AT"); at != "" {
		n, _ := strconv.Atoi(at)
		im.Store.Step = func(string) {
			if n--; n < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	a, err := im.Apply(ctx, p.Token, choices, false)
	if err == nil && a.Failed() > 0 {
		err = fmt.Errorf("%+v", a.Results)
	}
	return err
}

func (b *bench) child(source string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PACK_TEST_STORE="+b.Store.Dir(), "PACK_TEST_INTO="+b.Into, "PACK_TEST_SOURCE="+source)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func signaled(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
}

// whole says which version of the skill is there, or what is wrong.
func (b *bench) whole(t *testing.T, versions ...string) string {
	t.Helper()
	all := []string{}
	for _, file := range []string{"SKILL.md", "one", "sub/two"} {
		all = append(all, b.read("x/"+file))
	}
	for _, v := range versions {
		want := versioned(v)
		if all[0] == string(want[0].Data) && all[1] == string(want[1].Data) && all[2] == string(want[2].Data) {
			if found, err := Verify(context.Background(), b.Into, []string{"x"}); err != nil || found[0].Condition != ConditionIntact {
				return fmt.Sprintf("%s but %+v", v, found)
			}
			return v
		}
	}
	return "mixed: " + strings.Join(all, "|")
}

func versioned(v string) []e {
	return skillAt("", "x", e{Name: "one", Data: []byte("one " + v)}, e{Name: "sub/two", Data: []byte("two " + v)})
}

func (b *bench) leftovers() string {
	out := ""
	for _, name := range []string{b.Into + "/" + store.WorkFolder, b.Store.Dir() + "/" + store.WorkFolder} {
		if _, err := os.Lstat(name); err == nil {
			out += name + " "
		}
	}
	for _, dir := range []string{"journal", "spool", "blobs"} {
		entries, err := os.ReadDir(filepath.Join(b.Store.Dir(), dir))
		if err == nil && len(entries) > 0 {
			out += fmt.Sprint(dir, entries)
		}
	}
	return out
}

func TestAKillDuringAnImportLeavesOldOrNew(t *testing.T) {
	saw := map[string]int{}
	for step := 0; ; step++ {
		b := newBench(t)
		b.install(versioned("old")...)
		err := b.child(b.file(ziptest.Zip(versioned("new")...)), "PACK_TEST_DIE_AT="+strconv.Itoa(step)).Run()
		if err != nil && !signaled(err) {
			t.Fatalf("step %d: %v", step, err)
		}
		l, lockErr := b.Store.Lock(context.Background()) // the next start
		if lockErr != nil {
			t.Fatal(lockErr)
		}
		l.Unlock()
		got := b.whole(t, "old", "new")
		saw[got]++
		if left := b.leftovers(); left != "" || got != "old" && got != "new" {
			t.Fatalf("step %d: %s, left over: %s", step, got, left)
		}
		if err == nil {
			break
		}
	}
	if saw["old"] < 5 || saw["new"] < 2 {
		t.Errorf("kills gave %v: the steps are not where they should be", saw)
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	b := newBench(t)
	b.install(versioned("old")...)
	var group sync.WaitGroup
	errs := make([]error, 4)
	versions := []string{}
	for i := range errs {
		v := fmt.Sprintf("v%d", i)
		versions = append(versions, v)
		source := b.file(ziptest.Zip(versioned(v)...))
		group.Go(func() {
			out, err := b.child(source).CombinedOutput()
			if err != nil {
				errs[i] = fmt.Errorf("%w: %s", err, out)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := b.whole(t, versions...); !strings.HasPrefix(got, "v") || b.leftovers() != "" {
		t.Fatalf("%s, left over: %s", got, b.leftovers())
	}
}

func TestTwoStoresOneFolder(t *testing.T) {
	b := newBench(t)
	l, err := b.Store.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	tx, err := l.Begin("hold the folder")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.Into, 0o755); err != nil {
		t.Fatal(err)
	}
	staged, err := tx.Folder(b.Into, "held")
	if err != nil {
		t.Fatal(err)
	}
	staged.Close()
	other := newBench(t)
	other.Into = b.Into
	ended := make(chan []Result, 1)
	p := other.preview(skillAt("", "x")...)
	go func() { ended <- other.apply(p) }()
	select {
	case res := <-ended:
		t.Errorf("changed while the folder was held: %+v", res)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Abort(); err != nil {
		t.Fatal(err)
	}
	if res := <-ended; res[0].Status != StatusImported {
		t.Errorf("%+v", res)
	}
	if b.tree() != "x x/.source.json x/SKILL.md" {
		t.Error(b.tree())
	}
}

// TestB26DiskFull needs a file system of its own, which root can mount.
func TestB26DiskFull(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=2m"); err != nil {
		if os.Getuid() == 0 {
			t.Fatalf("mount a small file system: %v", err)
		}
		t.Skip("only root can mount a small file system")
	}
	defer func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	}()
	b := newBench(t)
	b.Into = filepath.Join(small, "skills")
	b.install(versioned("old")...)
	big := append(versioned("new"), e{Name: "big", Data: make([]byte, 4<<20), Deflate: true})
	p := b.preview(big...)
	res := b.apply(p, Choice{Path: "", ReplaceID: "x"})
	if res[0].Status != StatusError || !strings.Contains(res[0].Message, "no space left") {
		t.Fatalf("%+v", res)
	}
	if got := b.whole(t, "old"); got != "old" || b.leftovers() != "" {
		t.Fatalf("%s, left over: %s", got, b.leftovers())
	}
	// The store full too: the journal cannot be written.
	full, err := store.Open(filepath.Join(small, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	b.Importer.Store = full
	p = b.preview(versioned("new")...)
	filler, err := os.Create(filepath.Join(small, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close()
	if _, err := b.Apply(context.Background(), p.Token, []Choice{{Path: "", ReplaceID: "x"}}, false); err == nil {
		if got := b.whole(t, "old"); got != "old" {
			t.Fatal(got)
		}
	}
	os.Remove(filler.Name())
	l, err := full.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	l.Unlock()
	if got := b.whole(t, "old"); got != "old" || b.leftovers() != "" {
		t.Fatalf("%s, left over: %s", got, b.leftovers())
	}
}
