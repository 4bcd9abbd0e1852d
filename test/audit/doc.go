// Package audit holds the audit file of the built server against what owners
// do with such files: rotate them. It has no code beside the tests.
package audit
