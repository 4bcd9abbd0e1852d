//go:build !linux

package main

import "errors"

// errLinux: what is compared is the fence, which is Linux's.
var errLinux = errors.New("the tables are made on Linux")

func runTables(string, int) error   { return errLinux }
func bootTable(string, int) error   { return errLinux }
func egressTable(string, int) error { return errLinux }
func helperTable(string, int) error { return errLinux }
func callTable(string, int) error   { return errLinux }
func scanTable(string, int) error   { return errLinux }
