package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOnlyARunsConfigurationIsWritten(t *testing.T) {
	for text, good := range map[string]bool{
		`{"mcpServers": {}, "imports": []}` + "\n":                                           true,
		`{"mcpServers": {"a": {"command": "/bin/sh", "args": ["-lc", "x"]}}, "imports": []}`: true,
		`{"mcpServers": {}}`:                                                   false,
		`{"mcpServers": {}, "imports": ["claude-code"]}`:                       false,
		`{"mcpServers": {}, "imports": null}`:                                  false,
		`{"mcpServers": {"a": {"env": {"NODE_OPTIONS": "x"}}}, "imports": []}`: false,
		`{"mcpServers": {}, "imports": []} {}`:                                 false,
		`{"mcpServers": {}, "imports": [], "daemon": true}`:                    false,
		`{"imports": ["claude-code"], "mcpServers": {}, "Imports": []}`:        false,
		`{"imports": [], "MCPServers": {}}`:                                    false,
		`x`:                                                                    false, ``: false, `null`: false, `{"mcpServers": null, "imports": []}`: false,
		`{"mcpServers": {"a": {"command": "` + strings.Repeat("x", maxMCPConfig) + `"}}, "imports": []}`: false,
	} {
		if err := CheckMCPConfig([]byte(text)); (err == nil) != good {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// FuzzMCPConfig: what is accepted has, for a reader that goes by exact names as
// mcporter does, two members: an empty list of imports and an object.
func FuzzMCPConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"docs": {"baseUrl": "https://x.test/mcp", "bearerToken": "${T}"}}, "imports": []}`))
	f.Add([]byte(`{"imports": ["cursor"], "mcpServers": {"a": {"command": "/bin/sh", "args": ["-lc", "x"]}}, "Imports": []}`))
	f.Add([]byte(`{"mcpServers": {"a": {"env": {"A": "b"}}}, "imports": []}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if CheckMCPConfig(text) != nil {
			return
		}
		var read map[string]any
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("accepted, and no JSON: %v", err)
		}
		imports, isList := read["imports"].([]any)
		_, isObject := read["mcpServers"].(map[string]any)
		if len(read) != 2 || !isList || len(imports) > 0 || !isObject {
			t.Fatalf("accepted: %.200q", text)
		}
	})
}
