// Package frontlock is how the front gives up what it does not need before it
// reads the first skill: the user id, every capability, the right to run
// another program, to open a socket, to trace, and to open files outside the
// skill roots.
//
// It has three parts, in the order they are called. [Choose] picks the user the
// front will be, while the launch phase still has its privilege. [Drop] turns
// the calling thread into that user; launch calls it on its locked thread right
// before it executes itself as the front, so that the new program starts with
// one thread and nothing to take back. [Seal] runs in the front and closes
// files, network and system calls for all of its threads.
//
// It reads no skill, decides nothing about a run and cannot undo anything. The
// launch phase and the front are its callers. Outside Linux it reports that
// nothing holds.
package frontlock
