// Command release makes everything that a release consists of from this
// repository, into one folder: programs, packages, a bill of materials,
// checksums and a statement of provenance. The same source and version give the
// same bytes, wherever and whenever it runs.
//
// It uploads nothing, signs nothing and reads no credential. `make release`
// runs it for every platform, `make package` for the platform it runs on.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// release is one run of this program.
type release struct {
	source    string // the repository
	out       string // the folder that receives everything
	version   string // without v, as every manifest has it
	epoch     int64  // seconds: the time that every archive carries
	platforms []platform
}

// platform is one pair that Go builds for, with npm's names for it.
type platform struct {
	os, arch       string // as Go writes them
	npmOS, npmArch string // as node writes them
}

// platforms are those that a release is made for.
func platforms() []platform {
	return []platform{
		{"linux", "amd64", "linux", "x64"},
		{"linux", "arm64", "linux", "arm64"},
		{"darwin", "amd64", "darwin", "x64"},
		{"darwin", "arm64", "darwin", "arm64"},
		{"windows", "amd64", "win32", "x64"},
		{"windows", "arm64", "win32", "arm64"},
	}
}

// name is the platform in file names.
func (p platform) name() string { return p.os + "-" + p.arch }

// program is the file name of a program.
func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

func main() {
	source := flag.String("source", ".", "the repository")
	out := flag.String("out", "dist", "the folder to make; what was in it is removed")
	host := flag.Bool("host", false, "only the platform this runs on")
	programsOnly := flag.Bool("programs", false, "only the programs, to compare two builds")
	flag.Parse()
	if err := run(*source, *out, *host, *programsOnly); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the release step by step; each later step takes the files of
// earlier ones.
func run(source, out string, host, programsOnly bool) error {
	r, err := newRelease(source, out, host)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"programs", r.buildPrograms},
		{"documents", r.writeDocuments},
		{"npm", r.packNPM},
		{"mcpb", r.packBundles},
		{"deb and rpm", r.packLinux},
		{"bill of materials", r.writeBill},
		{"provenance", r.writeProvenance},
		{"checksums", r.writeChecksums},
	}
	if programsOnly {
		steps = steps[:1]
	}
	for _, s := range steps {
		begun := time.Now()
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Printf("release: %-18s %5.1f s\n", s.name, time.Since(begun).Seconds())
	}
	return nil
}

// newRelease reads the version and empties the folder.
func newRelease(source, out string, host bool) (*release, error) {
	r := &release{platforms: platforms()}
	var err error
	if r.source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if host {
		r.platforms = nil
		for _, p := range platforms() {
			if p.os == runtime.GOOS && p.arch == runtime.GOARCH {
				r.platforms = append(r.platforms, p)
			}
		}
	}
	if len(r.platforms) == 0 {
		return nil, fmt.Errorf("no release is made for %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if r.version, err = readVersion(filepath.Join(r.source, "server.json")); err != nil {
		return nil, err
	}
	if r.epoch, err = sourceTime(r.source); err != nil {
		return nil, err
	}
	if err := removeOld(r.out, r.source); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(r.out, 0o755)
}

// removeOld empties an earlier release's folder and nothing else.
func removeOld(out, source string) error {
	if strings.HasPrefix(source+string(filepath.Separator), out+string(filepath.Separator)) {
		return fmt.Errorf("refused to empty %s: the source lies in it; give another -out", out)
	}
	entries, err := os.ReadDir(out)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, "programs")); err != nil {
		return fmt.Errorf("refused to empty %s: it is no release's folder; remove it yourself, or give another -out", out)
	}
	return os.RemoveAll(out)
}

// readVersion takes the version from the registry manifest; a test holds every
// other manifest to it.
func readVersion(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var m struct{ Version string }
	if err := json.Unmarshal(text, &m); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if m.Version == "" {
		return "", fmt.Errorf("read %s: it has no version", path)
	}
	return m.Version, nil
}

// sourceTime is SOURCE_DATE_EPOCH, else the time of the commit, else the first
// second that a zip archive can hold.
func sourceTime(source string) (int64, error) {
	if v := os.Getenv("SOURCE_DATE_EPOCH"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < zipBegins {
			return 0, fmt.Errorf("SOURCE_DATE_EPOCH %q: not a number of seconds from %d on", v, zipBegins)
		}
		return n, nil
	}
	out, err := output(source, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return zipBegins, nil
	}
	return strconv.ParseInt(strings.TrimSpace(out), 10, 64)
}

// zipBegins is 1980-01-02, the first whole day in every time zone that the
// format of zip can express.
const zipBegins = 315619200
