// Package archive reads zip archives and folders that somebody else made, and
// writes zip archives that are the same bytes every time.
//
// There is one zip reader in the product and it is this one. It decides from
// the central directory, checks every local header against it, and refuses
// whatever two readers could understand differently: overlaps, gaps, a second
// end record, names that differ, sizes that lie. What it cannot do: write to a
// disk, follow a link, open an archive inside an archive by itself, or allocate
// by a number that the archive declares.
//
// Two kinds of fault are kept apart. A fault of the container (Open returns
// it) says nothing in the archive can be trusted. A fault of one entry (its
// Problem) says that entry must not be used; the caller decides what falls
// with it.
//
// Callers: pack and specialist, both on the owner's side. Nothing that runs
// with privilege may link this package.
package archive
