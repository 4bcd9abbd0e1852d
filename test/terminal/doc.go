// Package terminal holds the commands of the built program as a person at a
// terminal has them: questions, colours, widths and exit codes. It has no code
// beside the tests.
package terminal
