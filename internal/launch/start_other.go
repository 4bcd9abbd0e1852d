//go:build !linux

package launch

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"

	"skill-mcp/internal/config"
	"skill-mcp/internal/wire"
)

// Start starts the helper and gives the front its half. There is no memory
// file to seal and no replacing of a process that works everywhere, so the
// front keeps its process and drops its environment; what is weaker by that is
// in the report (layer environ).
func Start(look func(string) (string, bool), o Options) (config.Front, io.ReadWriteCloser, error) {
	front, boot, err := Assemble(look, o)
	if err != nil {
		return front, nil, err
	}
	conn, _, err := StartMonitor(boot, os.Environ())
	if err != nil {
		front.HelperError = err.Error()
		conn = Broken(front.HelperError)
	}
	os.Clearenv()
	return front, conn, nil
}

// pipes joins the helper's two streams into one wire.
type pipes struct {
	io.Reader
	io.Writer
	close func() error
}

// Close ends the helper's input, which ends the helper.
func (p pipes) Close() error { return p.close() }

// StartMonitor starts the helper with env; the wire is its standard input and
// output, and the owner's half goes first, with its length before it.
func StartMonitor(boot wire.Boot, env []string) (io.ReadWriteCloser, *os.Process, error) {
	path, err := Helper("skill-exec")
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(path, "monitor")
	cmd.Env, cmd.Stderr = env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	text, err := wire.Encode(boot)
	if err != nil {
		return nil, nil, err
	}
	if _, err := in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)); err != nil {
		return nil, nil, fmt.Errorf("tell %s what the owner allows: %w", path, err)
	}
	return pipes{out, in, in.Close}, cmd.Process, nil
}
