// Package policyfile is the written form of a policy: strict YAML with a why on
// every grant, the shipped policies, the owner's file, and the choice between
// them.
//
// It decides nothing about a run: it gives values of package policy. It reads
// files of the owner only, never a skill's, and it runs on the unprivileged
// side and in the owner's commands; the helper never links it.
//
// A file builds on another policy (key extends), states rows of its own and is
// refused as a whole when anything in it is wrong. All mistakes are reported at
// once, each with its line and column.
package policyfile
