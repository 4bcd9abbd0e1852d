// Package escape attacks the shipped binaries: a real server is started, as
// root and as an ordinary user, its skill is run through a real MCP exchange,
// and the scripts of that skill try to get out. Every forbidden act has to be
// refused and every control act has to work; with a layer switched off in an
// owner's policy its attack has to work, which shows that the layer and nothing
// else was what stopped it.
//
// The probe scripts are those of skill-mcp doctor. Nothing here is skipped: what
// a machine lacks is a failure, unless the test says what is expected instead.
package escape
