// Package check looks at skills for their authors: the contract of the server,
// the Agent Skills specification, the declaration, the dependencies, and the
// syntax of scripts.
//
// It reads skills as the server does (package catalog) and adds positions and
// levels. It runs nothing of a skill: the syntax of a script is asked of node
// through a [Checker], which the fence holds. The check command calls it; the
// helper never links it.
package check
