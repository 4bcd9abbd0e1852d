package launch

import (
	"os"
	"path/filepath"
	"testing"

	"skill-mcp/internal/config"
	"skill-mcp/internal/policy"
)

func TestTheDataFolderDoesNotOverlapSkills(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"skills/a", "data", "skills-data"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("skills/a", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	roots := []string{filepath.Join(top, "skills")}
	for dir, good := range map[string]bool{
		"data": true, "skills-data": true, "not-there-yet": true,
		"skills": false, "skills/a": false, ".": false, "link": false,
	} {
		dir = filepath.Join(top, dir)
		f := config.Front{DataDir: dir, Roots: roots, Policy: policy.Policy{Write: []policy.Path{{Path: dir}}}}
		writable := narrow(&f, "/opt/bin/skill-mcp")
		if (writable == dir) != good || (len(f.Warnings) == 0) != good || (len(f.Policy.Write) == 1) != good {
			t.Errorf("%s: %q, %q, %v", dir, writable, f.Warnings, f.Policy.Write)
		}
	}
	f := config.Front{Roots: roots}
	if w := narrow(&f, "/opt/bin/skill-mcp"); w != "" || len(f.Warnings) > 0 {
		t.Errorf("none: %q, %q", w, f.Warnings)
	}
}

// TestScriptsDoNotWriteTheOwnersSide: a script that can write the policy or the
// program itself writes the next start of the server; of the audit the owner is
// told, since a hosted server may have no other folder that lasts.
func TestScriptsDoNotWriteTheOwnersSide(t *testing.T) {
	for name, c := range map[string]struct {
		policyFile, audit, exe string
		refused                bool
		warnings               int
	}{
		"the policy in it":  {"/data/policy.yaml", "", "/opt/skill-mcp", true, 2},
		"the program in it": {"", "", "/data/bin/skill-mcp", true, 2},
		"the audit in it":   {"", "/data/log/audit", "/opt/skill-mcp", false, 2},
		"nothing in it":     {"/etc/policy.yaml", "/database/audit", "/opt/skill-mcp", false, 0},
	} {
		f := config.Front{DataDir: "/data", PolicyFile: c.policyFile, AuditPath: c.audit, Policy: policy.Policy{Write: []policy.Path{{Path: "/data"}, {Path: "/srv/out"}}}}
		writable := narrow(&f, c.exe)
		last := f.Policy.Write[len(f.Policy.Write)-1].Path
		if (writable == "") != c.refused || (len(f.Policy.Write) == 1) != c.refused || len(f.Warnings) != c.warnings || last != "/srv/out" {
			t.Errorf("%s: %q, %q, %v", name, writable, f.Warnings, f.Policy.Write)
		}
	}
}
