// Package yamlcore reads YAML the way the authors of SKILL.md files mean it:
// YAML 1.2, core schema, one document, strictly.
//
// It gives a tree of nodes that keep the source text, style, line and column
// of everything, and resolves plain scalars by the core schema alone: 030 is
// thirty, yes is a word, 2026-01-02 is a word, << is an ordinary key. Anchors,
// aliases, tags outside the core set, duplicate keys and a second document are
// refused, as is everything a strict YAML 1.2 parser refuses.
//
// It cannot decode into Go structures, write YAML or follow references: a
// caller walks the nodes and says itself what it accepts. Work and memory are
// bounded whatever the input: MaxBytes of text, MaxDepth levels and one pass
// over the text without going back.
//
// Callers are the packages on the front side that read what skill authors
// wrote. The privileged helper never links it.
package yamlcore
