// Package clients holds skill-mcp against the real clients and suites of
// test/node, and against a fixture that has what those suites look for. It has
// no code of its own beside the tests, which run the built programs as a user
// would.
package clients
