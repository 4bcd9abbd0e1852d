// Package catalog finds Agent Skills on disk and reads them.
//
// A scan takes the configured roots, finds the skills in their layouts, reads
// each SKILL.md and lists each bundle. Nothing it meets stops it: what cannot
// be served is a Problem with a reason, and what is left out is reported too.
// A Catalog is a snapshot that never changes; a later scan makes another beside
// it.
//
// Files are opened only after they are known to be regular, never through a
// link that leaves the skill, and read to a limit. Each read resolves its path
// anew, since a bundle may change under a running server.
//
// The package starts no process, knows nothing of grants and writes nothing.
// It belongs to the unprivileged front; the helper never links it.
package catalog
