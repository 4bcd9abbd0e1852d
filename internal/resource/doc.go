// Package resource is what the helper's own processes take from the machine:
// the limits they inherited, and how soon they run. It bounds no run, which
// package spawn and package fence do.
package resource
