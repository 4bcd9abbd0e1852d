package spawn

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestAsOrdinaryUser runs every other test of the package again as uid 65534.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // it is
	}
	dir, err := os.MkdirTemp("", "fence-user")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe", "-test.v", "-test.timeout=5m")
	c.Env = append(os.Environ(), "FENCE_PROBE="+probePath(), "TMPDIR="+dir, "HOME="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("as uid 65534: %v\n%s", err, out)
	}
}
