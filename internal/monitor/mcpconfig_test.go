package monitor

import (
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
		`x`: false, ``: false,
		`{"mcpServers": {"a": {"command": "` + strings.Repeat("x", maxMCPConfig) + `"}}, "imports": []}`: false,
	} {
		if err := checkMCPConfig([]byte(text)); (err == nil) != good {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}
