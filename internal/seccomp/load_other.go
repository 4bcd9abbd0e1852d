//go:build !linux

package seccomp

import "errors"

// Native is 0 outside Linux: there is no filter to make.
func Native() Arch { return 0 }

// Load is refused outside Linux.
func Load([]Instruction, uint) error {
	return errors.New("load seccomp filter: seccomp exists on linux only")
}
