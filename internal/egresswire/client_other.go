//go:build !linux

package egresswire

import (
	"errors"
	"os"
	"time"
)

// errLinux is the answer of every operation outside Linux.
var errLinux = errors.New("start egress process: network mode declared is enforced on linux only")

// Process is never made outside Linux.
type Process struct{}

// HandoverPair is refused outside Linux.
func HandoverPair() (egress, child *os.File, err error) { return nil, nil, errLinux }

// ListenLoopback is refused outside Linux.
func ListenLoopback() (*os.File, int, error) { return nil, 0, errLinux }

// Start is refused outside Linux.
func Start(Options) (*Process, error) { return nil, errLinux }

// PID is 0.
func (p *Process) PID() int { return 0 }

// Ended is never closed.
func (p *Process) Ended() <-chan struct{} { return nil }

// Tell is refused outside Linux.
func (p *Process) Tell([]string) error { return errLinux }

// WaitReady is refused outside Linux.
func (p *Process) WaitReady(time.Duration) (Ready, error) { return Ready{}, errLinux }

// Evidence is refused outside Linux.
func (p *Process) Evidence(time.Duration) (Evidence, error) { return Evidence{}, errLinux }

// Stop is refused outside Linux.
func (p *Process) Stop(time.Duration) (Evidence, error) { return Evidence{}, errLinux }

// Kill does nothing.
func (p *Process) Kill() {}
