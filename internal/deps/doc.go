// Package deps knows the MCP servers that skills depend on: it reads
// agents/openai.yaml strictly, unites what several skills declare, and writes
// the mcporter configuration of one run.
//
// It starts nothing by itself except in the owner's commands (process.go), and
// it holds no value of a variable: configurations name variables, and the only
// values it sees are those a caller asks it to look for in a text. The front
// and the owner's commands use it; the helper never links it.
package deps
