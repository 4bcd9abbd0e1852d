package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
)

// resolverFiles are what Go's resolver reads, and may read again while the
// process lives. Everything else on disk is out of reach.
var resolverFiles = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"}

// newestABI is the newest Landlock used here. The next one but two would have
// the process name the port of every datagram, which a resolver's choice of
// source does not.
const newestABI = 9

// restrictLandlock applies one ruleset, chosen from the probed version and
// then strict. It returns the version, 0 where the kernel has none.
func restrictLandlock(c egresswire.Config) (int, error) {
	abi, err := llsys.LandlockGetABIVersion()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read version: %w", err)
	}
	ports := dialPorts(c)
	config := ruleset(min(abi, newestABI), len(ports) > 0)
	rules := []landlock.Rule{
		landlock.PathAccess(llsys.AccessFSReadFile, resolverPaths()...).IgnoreIfMissing(),
	}
	if config.HandledAccessNet&llsys.AccessNetConnectTCP != 0 {
		for _, p := range ports {
			rules = append(rules, landlock.ConnectTCP(p))
		}
	}
	return abi, config.Restrict(rules...)
}

// ruleset handles all there is at a version. Connecting is left out when any
// port may be dialed: a rule names one port.
func ruleset(abi int, narrowPorts bool) landlock.Config {
	config := landlock.Config{HandledAccessFS: fsAccess(abi)}
	if abi >= 4 {
		config.HandledAccessNet = llsys.AccessNetBindTCP
		if narrowPorts {
			config.HandledAccessNet |= llsys.AccessNetConnectTCP
		}
	}
	if abi >= 6 {
		config.Scoped = llsys.ScopeAbstractUnixSocket | llsys.ScopeSignal
	}
	return config
}

// fsAccess is every file right of a version (linux/landlock.h).
func fsAccess(abi int) landlock.AccessFSSet {
	bits := 13
	for _, since := range []int{2, 3, 5, 9} { // refer, truncate, device ioctl, unix sockets by path
		if abi >= since {
			bits++
		}
	}
	return 1<<bits - 1
}

// resolverPaths adds, to the files, the directory of one that is a link: the
// program that writes it puts a new file there instead of changing the old.
func resolverPaths() []string {
	var out []string
	for _, path := range resolverFiles {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue // the resolver does without
		}
		out = append(out, real)
		if dir := filepath.Dir(real); dir != filepath.Dir(path) {
			out = append(out, dir)
		}
	}
	return out
}

// dialPorts are the TCP ports the process connects to, empty when any.
func dialPorts(c egresswire.Config) []uint16 {
	const dns = 53 // an answer too long for a datagram is asked for again over TCP
	if c.Upstream != "" {
		if up, err := newUpstream(c.Upstream); err == nil {
			return append([]uint16{dns, up.portNumber()}, resolverPort(c)...)
		}
	}
	if len(c.Ports) == 0 {
		return nil
	}
	return append(append([]uint16{dns}, resolverPort(c)...), c.Ports...)
}

func resolverPort(c egresswire.Config) []uint16 {
	if a, err := netip.ParseAddrPort(c.Resolver); err == nil {
		return []uint16{a.Port()}
	}
	return nil
}
