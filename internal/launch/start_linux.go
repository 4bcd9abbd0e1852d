package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/auditfile"
	"skill-mcp/internal/config"
	"skill-mcp/internal/frontlock"
	"skill-mcp/internal/wire"
)

// The descriptors that each process finds open when it starts.
const (
	socketFD = 3 // both: the wire
	memoryFD = 4 // both: sealed memory with wire.Boot or config.Front
	extraFD  = 5 // front: audit file, its socket and the listening socket, from here on
)

// Serve starts the helper and becomes the front. It returns only with an error.
func Serve(look func(string) (string, bool), o Options) error {
	front, boot, err := Assemble(look, o)
	if err != nil {
		return err
	}
	extra, asked, err := openExtra(&front)
	if err != nil {
		return err
	}
	boot.AuditPath = front.AuditPath
	lock := LockOptions(front)
	id := frontlock.Choose(lock)
	front.User, boot.FrontUID = config.User(id), id.UID
	if err := prepareStore(front); err != nil {
		front.Warnings = append(front.Warnings, err.Error())
	}
	conn, _, err := startMonitor(boot, os.Environ(), asked)
	if err != nil {
		// Skills are still served; every run is refused with this reason.
		front.HelperError = err.Error()
		if conn, err = os.Open(os.DevNull); err != nil {
			return err
		}
	}
	memory, err := sealed("skill-mcp-front", front)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // Drop is for this thread, which then becomes the front
	if err := frontlock.Drop(id, lock); err != nil {
		return err
	}
	return become(append([]*os.File{conn, memory}, extra...))
}

// prepareStore makes the folder of spent approvals for the front's user, who
// could not make it below a folder of the owner's.
func prepareStore(f config.Front) error {
	dir := f.SpentStore()
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the store of spent approvals: %w", err)
	}
	if f.User.UID < 0 {
		return nil
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Lchown(d, f.User.UID, f.User.GID); err != nil {
			return fmt.Errorf("give the store of spent approvals to uid %d: %w", f.User.UID, err)
		}
	}
	return nil
}

// StartMonitor starts the helper with env and returns the front's end of the
// wire. The helper has a process group of its own, so that a terminal's
// interrupt reaches the front alone and the front ends the run in order.
func StartMonitor(boot wire.Boot, env []string) (*os.File, *os.Process, error) {
	return startMonitor(boot, env, nil)
}

// startMonitor is StartMonitor with the monitor's end of the audit's socket,
// which is nil without an audit.
func startMonitor(boot wire.Boot, env []string, asked *os.File) (*os.File, *os.Process, error) {
	path, err := Helper("skill-exec")
	if err != nil {
		return nil, nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the wire: %w", err)
	}
	// Not blocking, so that closing this end also ends a read that waits on it.
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, nil, fmt.Errorf("make the wire: %w", err)
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "wire"), os.NewFile(uintptr(pair[1]), "wire")
	defer theirs.Close()
	memory, err := sealed("skill-mcp-boot", boot)
	if err != nil {
		mine.Close()
		return nil, nil, err
	}
	defer memory.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		mine.Close()
		return nil, nil, err
	}
	defer null.Close()
	files := []*os.File{null, os.Stderr, os.Stderr, theirs, memory}
	if asked != nil {
		files = append(files, asked) // auditfile.MonitorFD
	}
	p, err := os.StartProcess(path, []string{"skill-exec", "monitor"}, &os.ProcAttr{
		Env:   env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		mine.Close()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return mine, p, nil
}

// sealed writes v as JSON into a memory file that nobody can change any more.
// Sealing needs Linux 3.17, memfd with MFD_NOEXEC_SEAL 6.3 (retried without).
func sealed(name string, v any) (*os.File, error) {
	text, err := wire.Encode(v)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("make a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, fmt.Errorf("write a memory file: %w", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal a memory file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// become replaces this process by the front: same pid, same standard streams,
// the given descriptors from 3 on, and no environment at all.
func become(files []*os.File) error {
	// Two passes: a descriptor may stand where another has to go.
	high := make([]int, len(files))
	for i, f := range files {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, socketFD+len(files)+16)
		if err != nil {
			return fmt.Errorf("pass descriptors on: %w", err)
		}
		high[i] = fd
	}
	for i, fd := range high {
		if err := unix.Dup3(fd, socketFD+i, 0); err != nil {
			return fmt.Errorf("pass descriptors on: %w", err)
		}
	}
	argv0 := os.Args[0]
	return fmt.Errorf("become the front: %w", syscall.Exec("/proc/self/exe", []string{argv0, FrontRole}, []string{}))
}

// openExtra opens what the locked front could not: the audit file with the
// socket to ask for it again, and the listening socket. asked is the monitor's
// end of that socket.
func openExtra(f *config.Front) (extra []*os.File, asked *os.File, err error) {
	add := func(file *os.File) int {
		extra = append(extra, file)
		return extraFD + len(extra) - 1
	}
	if f.AuditPath != "" {
		file, err := auditfile.Open(f.AuditPath)
		if err != nil {
			return nil, nil, err
		}
		front, monitor, err := auditfile.Pair()
		if err != nil {
			return nil, nil, err
		}
		f.AuditFD, f.AuditAskFD, asked = add(file), add(front), monitor
	}
	if f.HTTP.Listen != "" {
		l, err := listen(f.HTTP.Listen)
		if err != nil {
			return nil, nil, err
		}
		f.HTTP.ListenFD = add(l)
	}
	return extra, asked, nil
}

// Received gives the front what launch left for it: its configuration and its
// end of the wire. Both descriptors are made close-on-exec again.
func Received() (config.Front, io.ReadWriteCloser, error) {
	var f config.Front
	memory := os.NewFile(memoryFD, "front")
	defer memory.Close()
	text, err := io.ReadAll(memory)
	if err != nil {
		return f, nil, fmt.Errorf("read the configuration from launch: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, nil, fmt.Errorf("read the configuration from launch: %w", err)
	}
	for _, fd := range []int{socketFD, f.AuditFD, f.AuditAskFD, f.HTTP.ListenFD} {
		if fd > 0 {
			unix.CloseOnExec(fd)
		}
	}
	if f.HelperError != "" {
		return f, Broken(f.HelperError), nil
	}
	return f, os.NewFile(socketFD, "wire"), nil
}
