// Package specialist brings specialist packages in and hands them on. A package
// is an archive with a manifest, a profile (name, description, prompt, what it
// refers to) and the skills it brings along.
//
// Everything in a package is somebody else's text. A preview reads it and
// reports everything that is wrong at once; an install writes exactly the bytes
// that were previewed, skills and record together or neither. It never runs
// anything, never overwrites a skill or a specialist that was not named, never
// touches a skill that it did not bring or that is built in, and prints neither
// prompts nor anything of the shape of a credential.
//
// It stands on package archive for reading, package pack for what a skill is and
// package store for changes that are whole. Callers: the owner's commands. The
// server does not link it.
package specialist
