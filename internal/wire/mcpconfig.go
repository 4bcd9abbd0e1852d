package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxMCPConfig bounds the configuration of one run, in bytes.
const maxMCPConfig = 1 << 20

// mcpServerFields are the fields a server of a run may have. None of them is
// looked at: the script reads the file, the monitor only refuses to write one
// of another shape for a front that was taken over.
type mcpServerFields struct {
	Description     string   `json:"description"`
	BaseURL         string   `json:"baseUrl"`
	ProtocolVersion string   `json:"protocolVersion"`
	BearerToken     string   `json:"bearerToken"`
	Command         string   `json:"command"`
	Args            []string `json:"args"`
	AllowedTools    []string `json:"allowedTools"`
	BlockedTools    []string `json:"blockedTools"`
	Lifecycle       string   `json:"lifecycle"`
}

// CheckMCPConfig accepts, as the MCP configuration of a run, JSON with exactly
// one object of servers and an empty list of imports, since anything in that
// list would pull in the user's own servers. The error says what is wrong in
// words that follow "the run's MCP configuration: ".
func CheckMCPConfig(text []byte) error {
	if len(text) > maxMCPConfig {
		return fmt.Errorf("it has %d bytes, at most %d", len(text), maxMCPConfig)
	}
	var parts map[string]json.RawMessage // keys as they are: a struct would take Imports for imports
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&parts); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	var imports []string
	err := json.Unmarshal(parts["imports"], &imports)
	if err != nil || len(parts) != 2 || imports == nil || len(imports) > 0 {
		return errors.New("it needs mcpServers and an empty list of imports, and nothing else")
	}
	var servers map[string]mcpServerFields
	d = json.NewDecoder(bytes.NewReader(parts["mcpServers"]))
	d.DisallowUnknownFields()
	if err := d.Decode(&servers); err != nil {
		return err
	}
	if servers == nil {
		return errors.New("its mcpServers must be an object")
	}
	return nil
}
