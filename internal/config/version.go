package config

// Version is the release, set by the linker
// (-X skill-mcp/internal/config.Version=…); a plain build says devel.
var Version = "devel"
