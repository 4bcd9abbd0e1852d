// Package fence is the child that runs one script: it carries out an order,
// from user namespace to execve, as one list of steps, each in its place for a
// reason, and shows what holds before the script's first instruction.
//
// It decides nothing: what may run is the monitor's, what a run gets is
// spawn's, and both reach it as one order in a memory file. It parses nothing
// that a skill author or a model wrote. Only cmd/skill-exec imports it.
package fence
