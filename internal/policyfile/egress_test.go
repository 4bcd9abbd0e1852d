//go:build unix

package policyfile

import (
	"strings"
	"testing"
)

func TestLimitsOfModeDeclaredAreRead(t *testing.T) {
	got, err := load(write(t, "egress: {connections: 10, bytesPerSecond: 1MiB}\n"), false)
	if err != nil || got.Policy.Egress.Connections != 10 || got.Policy.Egress.BytesPerSecond != 1<<20 {
		t.Errorf("%+v %v", got.Policy.Egress, err)
	}
	for _, bad := range []string{"connections: 0", "connections: 5000", "connections: many", "bytesPerSecond: 0", "bytesPerSecond: -1", "bytesPerSecond: 2TiB"} {
		if _, err := load(write(t, "egress: {"+bad+"}\n"), false); err == nil || !strings.Contains(err.Error(), "of egress is") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
