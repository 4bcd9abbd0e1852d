//go:build !linux

package main

import (
	"errors"
	"time"
)

// soak needs /proc and the fence.
func soak(string, time.Duration, string, *ledger) error { return errors.New("the soak needs Linux") }
