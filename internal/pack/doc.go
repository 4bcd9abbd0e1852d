// Package pack brings skills in and hands them on: it previews a bundle,
// applies what the owner chose, exports, verifies and uninstalls.
//
// A bundle is a zip archive, a folder or a place on GitHub that somebody else
// made. Nothing in it is trusted and nothing of it is run: a preview reads, an
// apply writes the previewed bytes and no others, and neither grants anything.
// An imported script still needs its declaration and the owner's grant like any
// other.
//
// It writes below the store and below the one folder of skills that the caller
// names, through os.Root. It never overwrites a skill without its id, never
// follows a link and never starts a process.
//
// Callers: the owner's commands, and package specialist for the skills in a
// specialist package.
package pack
