package auditfile

import (
	"fmt"
	"os"
)

// Open opens the audit file for appending and makes it where it is not there,
// for its owner alone. A link is not followed where the system can refuse one:
// a folder that others may write to must not choose another file.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the audit file MCP_SKILL_AUDIT: %w", err)
	}
	return f, nil
}
