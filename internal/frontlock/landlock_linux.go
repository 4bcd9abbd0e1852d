package frontlock

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"skill-mcp/internal/report"
)

// The rights of a file tree by the ABI that brought them (Linux 5.13, 5.19, 6.2
// and 6.10). Only what the running kernel knows may be asked for.
const (
	rightsABI1 = 1<<13 - 1
	readRights = ll.AccessFSReadFile | ll.AccessFSReadDir
	makeRights = readRights | ll.AccessFSWriteFile | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSMakeReg | ll.AccessFSMakeDir
)

// handled gives everything an ABI can restrict: files, TCP and scopes.
func handled(abi int) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: rightsABI1}
	if abi >= 2 {
		a.HandledAccessFS |= ll.AccessFSRefer
	}
	if abi >= 3 {
		a.HandledAccessFS |= ll.AccessFSTruncate
	}
	if abi >= 4 {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 5 {
		a.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return a
}

// landlock closes files, TCP and scopes with one ruleset on all threads.
func (r *Report) landlock(o Options) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		err = whyNone(err)
	} else if o.without(PartFiles) {
		err = errLeftOut
	}
	var skipped []string
	if err == nil {
		skipped, err = restrict(handled(abi), o)
	}
	level := fmt.Sprintf("abi %d", abi)
	if err != nil {
		for _, p := range []string{PartFiles, PartTCP, PartScope} {
			r.add(p, "", err)
		}
		return nil
	}
	row := Row{Part: PartFiles, Got: report.Enforced, Level: level}
	if len(skipped) > 0 {
		row.Reason = "not there, so not readable later either: " + join(skipped)
	}
	r.Rows = append(r.Rows, row)
	r.add(PartTCP, level, needs(abi, 4, "6.7"))
	r.add(PartScope, level, needs(abi, 6, "6.12"))
	return proveFiles(o)
}

// whyNone tells the three ways apart in which a kernel has no Landlock.
func whyNone(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("landlock: %w: the kernel has none (it needs Linux 5.13)", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("landlock: %w: it is built in and not in the kernel's lsm= list", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("landlock: %w: a seccomp filter around this process (a container's) refuses it", err)
	}
	return fmt.Errorf("landlock: %w", err)
}

// needs gives the reason a part is missing at an ABI, or nil.
func needs(abi, least int, linux string) error {
	if abi >= least {
		return nil
	}
	return fmt.Errorf("landlock ABI %d, and this needs %d (Linux %s)", abi, least, linux)
}

// restrict builds the ruleset and applies it. skipped are paths that are not
// there: a rule needs something to stand on.
func restrict(attr ll.RulesetAttr, o Options) (skipped []string, err error) {
	set, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("create Landlock ruleset: %w", err)
	}
	defer unix.Close(set)
	rules := []struct {
		paths  []string
		rights uint64
	}{
		{o.Roots, readRights},
		{o.ReadFiles, ll.AccessFSReadFile},
		{psxNeeds(), ll.AccessFSReadDir},
		{o.Write, (makeRights | ll.AccessFSTruncate) & attr.HandledAccessFS},
	}
	for _, rule := range rules {
		for _, p := range rule.paths {
			switch err := allow(set, p, rule.rights); {
			case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES), errors.Is(err, unix.ELOOP):
				skipped = append(skipped, p)
			case err != nil:
				return nil, fmt.Errorf("allow %s in the Landlock ruleset: %w", p, err)
			}
		}
	}
	if _, _, e := psx.Syscall3(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); e != 0 {
		return nil, fmt.Errorf("apply Landlock ruleset to all threads: %w", e)
	}
	return skipped, nil
}

// allow adds one path. Rights of directories on a file are an error of the
// kernel, so a file gets what files have.
func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	}
	return ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0)
}

// proveFiles opens what the front must not read: the system's own root.
func proveFiles(o Options) error {
	for _, r := range o.Roots {
		if r == "/" {
			return nil // the owner serves the whole system
		}
	}
	err := tryOpen("/", unix.O_DIRECTORY)
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("lock the front: / could be opened under Landlock (%v)", err)
	}
	return nil
}
