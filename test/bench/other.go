//go:build !linux

package main

import "errors"

// errLinux: what is compared is the fence, which is Linux's.
var errLinux = errors.New("the tables are made on Linux")

// bench is empty here.
type bench struct{}

func newBench(options) (bench, error)              { return bench{}, errLinux }
func (bench) close()                               {}
func (bench) facts() []string                      { return nil }
func (bench) measure(measurement) ([]table, error) { return nil, errLinux }
func role([]string) error                          { return errLinux }

func runTables(bench) ([]table, error)    { return nil, errLinux }
func busyTable(bench) ([]table, error)    { return nil, errLinux }
func egressTable(bench) ([]table, error)  { return nil, errLinux }
func helperTable(bench) ([]table, error)  { return nil, errLinux }
func bootTable(bench) ([]table, error)    { return nil, errLinux }
func callTable(bench) ([]table, error)    { return nil, errLinux }
func scanTables(bench) ([]table, error)   { return nil, errLinux }
func floodTable(bench) ([]table, error)   { return nil, errLinux }
func memoryTables(bench) ([]table, error) { return nil, errLinux }
func killTable(bench) ([]table, error)    { return nil, errLinux }
