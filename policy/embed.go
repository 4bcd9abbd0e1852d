// Package policy holds the policies that are shipped, as text. It is data only;
// internal/policyfile gives it meaning, and only that package imports it.
package policy

import "embed"

//go:embed hosted.yaml standalone.yaml portable.yaml strict.yaml
var files embed.FS

// Text returns the text of a shipped policy by its name, without ".yaml".
func Text(name string) ([]byte, bool) {
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
