// Package store keeps what the owner's commands remember: one JSON file for an
// object, one lock between processes, and a journal that makes a change of
// several files and folders one change.
//
// A change is staged beside its target, written down, carried out by renames,
// and written down as done. A process that dies on the way leaves a journal;
// whoever takes the lock next undoes the change, or finishes cleaning up when it
// was done. A journal that cannot be understood or undone blocks every further
// change, never a read.
//
// It serves skills, specialists and connectors and knows nothing of any of
// them. It writes below its own folder and below the folders that a caller
// names as the place of a change, through os.Root, and nowhere else.
//
//	<dir>/lock                  held while anything changes
//	<dir>/<kind>/<id>.json      objects
//	<dir>/journal/<tx>.json     changes that are not finished
//	<dir>/spool/                temporary files, without a name where the system can
//	<base>/.skill-mcp/<tx>/<n>  what a change stages, for each folder it touches
package store
