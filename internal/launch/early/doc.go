// Package early lets the launch phase leave before the rest of the program is
// initialised. Importing it has that effect; only cmd/skill-mcp may.
package early
