package doctor

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Machine is the decoy that the probes attack: files, listeners and a value in
// the helper's environment, all made for this examination.
type Machine struct {
	Dir, Root       string // the probe skills lie below Root
	Outside, Secret string // a file for everybody and one for its owner, outside
	Shared          string // a directory that everybody may write
	Unix, Abstract  string // sockets by path and by name
	Sentinel        string // a value for the helper's environment
	Mark            string // in the arguments of processes that are left behind
	TCP, UDP        int    // ports on 127.0.0.1
	closers         []func() error
}

// probeFile is the declaration of the probe skills.
const probeFile = `---
name: %s
description: Probes of skill-mcp doctor. Not for use.
%s---
`

// NewMachine makes the decoys in a temporary directory that every user may
// enter, as skills are.
func NewMachine() (*Machine, error) {
	dir, err := os.MkdirTemp("", "skill-mcp-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make the doctor's directory: %w", err)
	}
	m := &Machine{
		Dir: dir, Root: filepath.Join(dir, "root"), Outside: filepath.Join(dir, "outside", "file"),
		Secret: filepath.Join(dir, "outside", "secret"), Shared: filepath.Join(dir, "shared"),
		Unix: filepath.Join(dir, "outside", "s"), Sentinel: random(), Mark: "skill-mcp-doctor-" + random(),
	}
	m.Abstract = m.Mark
	m.closers = append(m.closers, func() error { return os.RemoveAll(dir) })
	if err := m.fill(); err != nil {
		m.Close()
		return nil, fmt.Errorf("make the doctor's decoys: %w", err)
	}
	return m, nil
}

// random gives a word that occurs nowhere else.
func random() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}

// fill writes the files and opens the listeners.
func (m *Machine) fill() error {
	for _, d := range []string{m.Dir, m.Root, filepath.Dir(m.Outside), m.Shared} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o755); err != nil { // whatever the umask says
			return err
		}
	}
	if err := os.Chmod(m.Shared, 0o777); err != nil {
		return err
	}
	for file, mode := range map[string]os.FileMode{m.Outside: 0o666, m.Secret: 0o600} {
		if err := os.WriteFile(file, []byte("a file of somebody else\n"), mode); err != nil {
			return err
		}
		if err := os.Chmod(file, mode); err != nil {
			return err
		}
	}
	for _, skill := range []string{Skill, Small} {
		if err := WriteSkill(filepath.Join(m.Root, skill), skill, ""); err != nil {
			return err
		}
	}
	return m.listen()
}

// WriteSkill writes a skill with all probes; declaration is YAML for its
// frontmatter, which the doctor does not need and a server does.
func WriteSkill(dir, name, declaration string) error {
	scripts := filepath.Join(dir, "scripts")
	if err := os.MkdirAll(scripts, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), fmt.Appendf(nil, probeFile, name, declaration), 0o644); err != nil {
		return err
	}
	// Whatever lies above the skill does not change what the scripts are.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"type\": \"commonjs\"}\n"), 0o644); err != nil {
		return err
	}
	list, err := fs.ReadDir(Probes, "probes")
	if err != nil {
		return err
	}
	for _, f := range list {
		text, err := fs.ReadFile(Probes, "probes/"+f.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(scripts, f.Name()), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sunPath is the length of sun_path (unix(7)).
const sunPath = 108

// listen opens the sockets that the probes try to reach.
func (m *Machine) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.closers = append(m.closers, tcp.Close)
	m.TCP = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.closers = append(m.closers, udp.Close)
	m.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	if runtime.GOOS == "windows" {
		return nil
	}
	names := []string{m.Unix}
	if runtime.GOOS == "linux" {
		// node pads a name with NULs to the whole of sun_path, others do not.
		names = append(names, "@"+m.Abstract, "@"+m.Abstract+strings.Repeat("\x00", sunPath-1-len(m.Abstract)))
	}
	for _, n := range names {
		l, err := net.Listen("unix", n)
		if err != nil {
			return err
		}
		m.closers = append(m.closers, l.Close)
	}
	return os.Chmod(m.Unix, 0o777)
}

// Close takes the decoys away.
func (m *Machine) Close() {
	for i := len(m.closers) - 1; i >= 0; i-- {
		m.closers[i]()
	}
}

// Args gives the argument of the probes: the addresses of the decoys, and what
// the pairs add.
func (m *Machine) Args(pairs ...any) map[string]any {
	return with(map[string]any{
		"outside": m.Outside, "secret": m.Secret, "shared": m.Shared, "unix": m.Unix, "abstract": m.Abstract,
		"sentinel": m.Sentinel, "tcp": m.TCP, "udp": m.UDP, "mark": m.Mark,
	}, pairs)
}

// with adds name and value pairs to a map.
func with(out map[string]any, pairs []any) map[string]any {
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}
