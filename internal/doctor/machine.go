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
)

// machine is the decoy that the probes attack: files, listeners and a value in
// the helper's environment, all made for this examination.
type machine struct {
	dir, root                string // the probe skills lie below root
	outside, secret, shared  string
	unix, abstract, sentinel string
	mark                     string // in the arguments of processes that are left behind
	tcp, udp                 int
	closers                  []func() error
}

// probeFile is the declaration of the probe skills.
const probeFile = `---
name: %s
description: Probes of skill-mcp doctor. Not for use.
---
`

// newMachine makes the decoys in a temporary directory that every user may
// enter, as skills are.
func newMachine() (*machine, error) {
	dir, err := os.MkdirTemp("", "skill-mcp-doctor-")
	if err != nil {
		return nil, fmt.Errorf("make the doctor's directory: %w", err)
	}
	m := &machine{
		dir: dir, root: filepath.Join(dir, "root"), outside: filepath.Join(dir, "outside", "file"),
		secret: filepath.Join(dir, "outside", "secret"), shared: filepath.Join(dir, "shared"),
		unix: filepath.Join(dir, "outside", "s"), sentinel: random(), mark: "skill-mcp-doctor-" + random(),
	}
	m.abstract = m.mark
	m.closers = append(m.closers, func() error { return os.RemoveAll(dir) })
	if err := m.fill(); err != nil {
		m.close()
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
func (m *machine) fill() error {
	for _, d := range []string{m.dir, m.root, filepath.Dir(m.outside), m.shared} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(d, 0o755); err != nil { // whatever the umask says
			return err
		}
	}
	if err := os.Chmod(m.shared, 0o777); err != nil {
		return err
	}
	for file, mode := range map[string]os.FileMode{m.outside: 0o666, m.secret: 0o600} {
		if err := os.WriteFile(file, []byte("a file of somebody else\n"), mode); err != nil {
			return err
		}
		if err := os.Chmod(file, mode); err != nil {
			return err
		}
	}
	for _, skill := range []string{Skill, Small} {
		if err := writeSkill(filepath.Join(m.root, skill), skill); err != nil {
			return err
		}
	}
	return m.listen()
}

// writeSkill writes one probe skill.
func writeSkill(dir, name string) error {
	scripts := filepath.Join(dir, "scripts")
	if err := os.MkdirAll(scripts, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), fmt.Appendf(nil, probeFile, name), 0o644); err != nil {
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

// listen opens the sockets that the probes try to reach.
func (m *machine) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.closers = append(m.closers, tcp.Close)
	m.tcp = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.closers = append(m.closers, udp.Close)
	m.udp = udp.LocalAddr().(*net.UDPAddr).Port
	if runtime.GOOS == "windows" {
		return nil
	}
	names := []string{m.unix}
	if runtime.GOOS == "linux" {
		names = append(names, "@"+m.abstract)
	}
	for _, n := range names {
		l, err := net.Listen("unix", n)
		if err != nil {
			return err
		}
		m.closers = append(m.closers, l.Close)
	}
	return os.Chmod(m.unix, 0o777)
}

// close takes the decoys away.
func (m *machine) close() {
	for i := len(m.closers) - 1; i >= 0; i-- {
		m.closers[i]()
	}
}
