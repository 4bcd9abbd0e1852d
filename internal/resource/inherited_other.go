//go:build !linux

package resource

// Raise leaves limits alone: elsewhere nothing bounds memory instead.
func Raise() {}

// TooLittle finds nothing: the figures are Linux's.
func TooLittle(string, string) string { return "" }
