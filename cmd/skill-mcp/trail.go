package main

import (
	"fmt"
	"os"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/auditfile"
	"skill-mcp/internal/config"
)

// trail is the owner's audit and how its file is opened once more. The zero
// value is none.
type trail struct {
	log   *audit.Log
	again func() (*os.File, error)
}

// openTrail takes the file that the launch phase opened, or opens it where
// nothing keeps this process from that.
func openTrail(cfg config.Front) (trail, error) {
	switch {
	case cfg.AuditPath == "":
		return trail{}, nil
	case cfg.AuditFD != 0:
		return trail{
			log:   audit.New(os.NewFile(uintptr(cfg.AuditFD), cfg.AuditPath)),
			again: func() (*os.File, error) { return auditfile.Ask(cfg.AuditAskFD) },
		}, nil
	}
	f, err := auditfile.Open(cfg.AuditPath)
	if err != nil {
		return trail{}, err
	}
	return trail{audit.New(f), func() (*os.File, error) { return auditfile.Open(cfg.AuditPath) }}, nil
}

// rotate goes on in a new file when the old one was moved away. Where that does
// not work, the audit goes on in the old one.
func (t trail) rotate() error {
	if t.log == nil {
		return nil
	}
	f, err := t.again()
	if err != nil {
		return fmt.Errorf("the audit goes on in the file that was open: %w", err)
	}
	return t.log.Replace(f)
}
