// Package confirm decides whether a person approved one call: the digest of
// what they saw, the token and the sealed state that carry their approval, the
// store that lets one approval act once, and the text they read.
//
// It cannot run anything and knows nothing of skills: a call is a tool, a
// target, arguments and details. It reads no environment; the key and the
// settings are handed in. Only the front imports it.
//
// The rule it keeps: an approval is bound by an HMAC to the canonical form of
// everything that was shown, and [Gate.Spend] accepts it at most once. Where
// the store cannot answer, nothing is approved.
package confirm
