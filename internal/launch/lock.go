package launch

import (
	"skill-mcp/internal/config"
	"skill-mcp/internal/frontlock"
)

// LockOptions says what the front keeps: the roots and the owner's policy file
// to read, and the store of spent approvals to write.
func LockOptions(f config.Front) frontlock.Options {
	o := frontlock.Options{Roots: f.Roots, Accept: f.HTTP.Listen != ""}
	if f.PolicyFile != "" {
		o.ReadFiles = []string{f.PolicyFile}
	}
	if s := f.SpentStore(); s != "" {
		o.Write, o.Enter = []string{s}, []string{f.DataDir}
	}
	return o
}
