// Package page holds the page of `skill-mcp ui` against a real browser:
// Debian's Chromium without a window, spoken to over a pipe, and axe-core of
// test/node. It has no code beside the tests.
package page
