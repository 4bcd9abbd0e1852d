package yamlcore

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// judgeProcess is one node that judges text after text: starting one for each
// input would leave no time for inputs.
type judgeProcess struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

// startJudge gives nil where node or the package is missing; the tests beside
// this one say so.
func startJudge(f *testing.F) *judgeProcess {
	dir, err := filepath.EvalSymlinks("../../test/node/node_modules")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "yaml", "package.json"))
	}
	if err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
			f.Fatalf("the npm package yaml is due here: %v", err)
		}
		return nil
	}
	cmd := exec.Command("node", "testdata/judge.cjs", "lines")
	cmd.Env = append(os.Environ(), "NODE_PATH="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return &judgeProcess{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// ask judges one text.
func (j *judgeProcess) ask(t *testing.T, text string) (v verdict) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	line, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := j.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzAgainstTheNpmPackage: a text is read as the npm package yaml reads it in
// its core schema, but for the differences that are meant. The input is a recipe:
// bytes pick pieces of YAML, or places in a sample where it is changed, so that
// most texts are nearly right.
func FuzzAgainstTheNpmPackage(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 10, 0, 4, 12, 0, 18, 2, 10, 5})
	f.Add([]byte{2, 3, 40, 1, 9, 4, 80, 2, 7})
	for i := range samples {
		f.Add([]byte{byte(i), 3, 1, 2, byte(17 * i), 7, 9})
	}
	judge := startJudge(f)
	f.Fuzz(func(t *testing.T, recipe []byte) {
		text := write(recipe)
		if judge == nil || !utf8.ValidString(text) {
			return
		}
		if d := compare(text, judge.ask(t, text)); d != "" {
			t.Fatalf("%q: %s", text, d)
		}
	})
}

// write follows a recipe: its first byte picks a sample, or none; the others, in
// pairs, a place and the piece that is put there.
func write(recipe []byte) string {
	if len(recipe) == 0 {
		return "\n"
	}
	text := []rune("k: ")
	if n := int(recipe[0]); n < 2*len(samples) {
		text = []rune(samples[n/2])
	}
	recipe = recipe[1:min(len(recipe), 24)]
	for ; len(recipe) >= 2; recipe = recipe[2:] {
		at := len(text) * int(recipe[0]) / 256
		piece := []rune(pieces[int(recipe[1])%len(pieces)])
		text = append(text[:at:at], append(piece, text[at:]...)...)
	}
	return strings.TrimRight(string(text), "\n") + "\n"
}
