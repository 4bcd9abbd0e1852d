// Package sched asks the kernel to let a process run soon rather than long: a
// deadline, an answer and the next step of a set-up should not wait behind
// programs that compute. It is a request without privilege and no share more:
// what comes earlier ends earlier.
package sched
