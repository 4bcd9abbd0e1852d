//go:build unix

package main

import "golang.org/x/sys/unix"

// signalNumber is the number of a signal's name, 0 for an unknown one.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }
