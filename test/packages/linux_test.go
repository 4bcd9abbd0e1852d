package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"skill-mcp/test/mcpclient"
)

// wanted are files that both packages have to bring.
func wanted() []string {
	return []string{
		"/usr/bin/skill-mcp", "/usr/bin/skill-exec", "/usr/bin/skill-egress",
		"/usr/share/skill-mcp/skills/skill-mcp-demo/SKILL.md", "/usr/share/skill-mcp/skills/skill-mcp-demo/scripts/report.js",
		"/usr/share/man/man1/skill-mcp.1.gz", "/usr/share/man/man1/skill-mcp-doctor.1.gz",
		"/usr/share/bash-completion/completions/skill-mcp", "/usr/share/fish/vendor_completions.d/skill-mcp.fish",
		"/usr/share/skill-mcp/completions/skill-mcp.ps1",
		"/usr/share/doc/skill-mcp/README.md", "/usr/lib/systemd/system/skill-mcp.service",
	}
}

// TestDeb installs the package into an empty root and runs it from there.
func TestDeb(t *testing.T) {
	deb, root := made(t, "linux/*.deb"), folder(t)
	for _, d := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "/", nil, "dpkg", "--root="+root, "--log=/dev/null", "--install", deb)
	state := command(t, "/", nil, "dpkg-query", "--admindir="+root+"/var/lib/dpkg", "-W", "-f", "${db:Status-Status} ${Version} ${Architecture}", "skill-mcp")
	if !strings.HasPrefix(state, "installed "+version(t)) || !strings.HasSuffix(state, " "+runtime.GOARCH) {
		t.Errorf("dpkg says %q", state)
	}
	for _, path := range append(wanted(), "/usr/share/zsh/vendor-completions/_skill-mcp") {
		if st, err := os.Stat(root + path); err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	exchange(t, mcpclient.Options{Command: []string{root + "/usr/bin/skill-mcp"}, Env: environment(), Dir: "/"})
	command(t, "/", nil, "dpkg", "--root="+root, "--log=/dev/null", "--purge", "skill-mcp")
	if _, err := os.Stat(root + "/usr/bin/skill-mcp"); !os.IsNotExist(err) {
		t.Errorf("after the removal: %v", err)
	}
}

// TestRPM unpacks the package and compares its list of files. Its names are
// absolute: cpio is told to stay in the folder.
func TestRPM(t *testing.T) {
	rpm, dir := made(t, "linux/*.rpm"), folder(t)
	command(t, dir, nil, "sh", "-c", `rpm2cpio "$1" | cpio --quiet --no-absolute-filenames -idm`, "sh", rpm)
	for _, path := range append(wanted(), "/usr/share/zsh/site-functions/_skill-mcp") {
		st, err := os.Stat(dir + path)
		if err != nil {
			t.Error(err)
			continue
		}
		if mode := st.Mode().Perm(); strings.HasPrefix(path, "/usr/bin/") != (mode == 0o755) || mode&0o022 != 0 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
	exchange(t, mcpclient.Options{Command: []string{dir + "/usr/bin/skill-mcp"}, Env: environment(), Dir: "/"})
}

// TestCompletionsLoad asks the shells that are there whether they can read
// their file.
func TestCompletionsLoad(t *testing.T) {
	for shell, file := range map[string]string{"bash": "skill-mcp", "zsh": "_skill-mcp", "fish": "skill-mcp.fish", "pwsh": "skill-mcp.ps1"} {
		path := made(t, "completions/"+file)
		source, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(source), "__complete") {
			t.Errorf("%s does not ask the program: %v", file, err)
		}
		if _, err := exec.LookPath(shell); err == nil && shell != "pwsh" {
			command(t, "/", nil, shell, "-n", path)
		}
	}
}

// TestManPagesAreReadable looks for what a formatter stumbles over.
func TestManPagesAreReadable(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(dist, "man", "*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, p := range pages {
		source, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), ".SH NAME") || strings.Contains(string(source), os.Getenv("HOME")+"/") {
			t.Errorf("%s has no name, or a path of this machine", p)
		}
	}
}

// TestContainerfile reads the file as a reviewer would; nothing is built.
func TestContainerfile(t *testing.T) {
	source := text(t, "packaging/oci/Containerfile")
	instructions := map[string][]string{}
	for _, line := range strings.Split(source, "\n") {
		if word, rest, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			instructions[word] = append(instructions[word], rest)
		}
	}
	if u := instructions["USER"]; len(u) != 1 || strings.HasPrefix(u[0], "0") || strings.Contains(u[0], "root") || !strings.Contains("123456789", u[0][:1]) {
		t.Errorf("USER is %v: a number that is not 0 is wanted", u)
	}
	if f := instructions["FROM"]; len(f) != 1 || !strings.HasPrefix(f[0], "node:") || strings.Contains(f[0], "/") || strings.HasSuffix(f[0], "latest") {
		t.Errorf("FROM is %v: an image of node with a tag, and no host", f)
	}
	copies := strings.Join(instructions["COPY"], "\n")
	for _, p := range []string{"/skill-mcp", "/skill-exec", "/skill-egress", "skills "} {
		if !strings.Contains(copies, p) {
			t.Errorf("COPY leaves %s out", p)
		}
	}
	if e := instructions["ENTRYPOINT"]; !slices.Equal(e, []string{`["/usr/local/bin/skill-mcp"]`}) {
		t.Errorf("ENTRYPOINT is %v", e)
	}
	for _, no := range []string{"RUN", "ADD", "ENV", "VOLUME"} {
		if len(instructions[no]) > 0 {
			t.Errorf("%s %v: nothing is fetched, run or set while building", no, instructions[no])
		}
	}
}

// TestSystemdUnit holds what the fence needs of the unit, and what it needs it
// not to do.
func TestSystemdUnit(t *testing.T) {
	source := text(t, "packaging/systemd/skill-mcp.service")
	keys := map[string]string{}
	for _, line := range strings.Split(source, "\n") {
		if k, v, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			keys[k] = v
		}
	}
	for k, v := range map[string]string{"Delegate": "yes", "DelegateSubgroup": "server", "DynamicUser": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "LockPersonality": "yes", "UMask": "0077"} {
		if got, ok := keys[k]; !ok || got != v {
			t.Errorf("%s=%s is wanted, there is %q", k, v, got)
		}
	}
	for _, k := range []string{"RestrictNamespaces", "SystemCallFilter", "MemoryDenyWriteExecute", "ProtectControlGroups", "ProtectProc", "ProcSubset", "ProtectKernelTunables", "ProtectKernelLogs", "PrivateUsers", "RootDirectory"} {
		if v, ok := keys[k]; ok {
			t.Errorf("%s=%s takes away what a run's fence is made of", k, v)
		}
	}
	if !strings.HasPrefix(keys["ExecStart"], "/usr/bin/skill-mcp serve --http 127.0.0.1:") || !strings.Contains(keys["ExecStart"], "--token-file %d/token") {
		t.Errorf("ExecStart=%s", keys["ExecStart"])
	}
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // the keys were looked at above; systemd is no part of the gate
	}
	dir := folder(t)
	program := filepath.Join(dist, "programs", goPlatform(), "skill-mcp")
	unit := filepath.Join(dir, "skill-mcp.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(source, "/usr/bin/skill-mcp", program)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(verify, "verify", "--man=no", unit).CombinedOutput()
	for _, line := range strings.Split(string(out), "\n") {
		// Older than 254; the unit says so.
		if strings.Contains(line, "skill-mcp.service") && !strings.Contains(line, "'DelegateSubgroup'") {
			t.Errorf("systemd-analyze (%v): %s", err, line)
		}
	}
}
