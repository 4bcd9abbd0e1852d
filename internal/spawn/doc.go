// Package spawn makes the runs of one monitor: it probes what the host offers,
// decides what the child of a run gets (groups, view, rules, filter, limits,
// environment), starts it, and ends it with everything that came of it.
//
// It cannot decide what may run (the monitor does), puts no layer on itself
// (the child in package fence does, in a process of its own) and parses nothing
// that a skill author or a model wrote. Only the monitor and its neighbours on
// the helper's side (interp, plain) import it.
package spawn
