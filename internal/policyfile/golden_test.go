package policyfile

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// readGolden gives a golden file, after writing got to it with -update.
func readGolden(t *testing.T, name, got string) string {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func itoa(n int) string { return strconv.Itoa(n) }
