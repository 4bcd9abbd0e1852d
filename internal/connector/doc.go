// Package connector reads, checks and writes connector templates: how an MCP
// server is reached, without any value that would let somebody in. It exports
// them as templates and as `mcpServers` documents for MCP clients, and imports
// both.
//
// It never starts, installs, signs in to or calls anything, and it holds no
// secret: a document that carries one is refused with the place and without
// the value. The owner's commands use it; the server does not.
package connector
