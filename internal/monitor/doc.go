// Package monitor is the privileged half of the wall: it holds the owner's
// environment, grants, roots and policy, checks every request of the front on
// its own copies, starts one fenced child at a time and reports how it ended.
//
// It parses no skill text and no YAML, opens no socket and takes no authority
// from the front: a front that was taken over can ask for what the owner
// granted and for nothing else. Only cmd/skill-exec may call it.
package monitor
