package seccomp

import (
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestNumbersAreTheKernels compares the table with the one of x/sys, for both
// architectures.
func TestNumbersAreTheKernels(t *testing.T) {
	pkg, err := build.Import("golang.org/x/sys/unix", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+= (\d+)`)
	for arch, file := range map[Arch]string{AMD64: "zsysnum_linux_amd64.go", ARM64: "zsysnum_linux_arm64.go"} {
		text, err := os.ReadFile(filepath.Join(pkg.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Numbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			name := strings.ToLower(m[1])
			if name == "fstatat" {
				name = "newfstatat" // the kernel's name for it
			}
			want, _ := strconv.Atoi(m[2])
			if got[name] != want {
				t.Errorf("%s: %s is %d, x/sys says %d", file, name, got[name], want)
			}
			count++
		}
		if count < 300 {
			t.Errorf("%s: only %d calls read", file, count)
		}
	}
}
