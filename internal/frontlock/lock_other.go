//go:build !linux

package frontlock

import (
	"errors"
	"os"
)

// errLinux is why nothing holds here.
var errLinux = errors.New("this exists on Linux only")

// Choose keeps the user: there is no lock to become part of.
func Choose(Options) Identity { return Identity{UID: -1, GID: -1, Reason: errLinux.Error()} }

// Drop does nothing here; [Seal] reports it.
func Drop(Identity, Options) error { return nil }

// Seal reports that no part holds.
func Seal(Options) (Report, error) {
	r := Report{UID: os.Geteuid(), GID: os.Getegid()}
	for _, p := range []string{PartUser, PartCaps, PartNNP, PartDumpable, PartFiles, PartTCP, PartScope, PartCalls, PartNoExec} {
		r.add(p, "", errLinux)
	}
	return r, nil
}
