// Package seccomp turns rows of a table into a seccomp program: which system
// calls are answered with what, and why. It is pure: rows in, instructions
// out, with an interpreter so that a filter is tested without a kernel. Only
// Load, on Linux, touches the calling process.
//
// It cannot look behind a pointer: arguments are compared as the 32 bits that
// the kernel takes an int from, since a caller may put anything in the upper
// half. The fence's child and the front's lock use it, each with its own rows.
package seccomp
