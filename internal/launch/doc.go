// Package launch is the short first life of `skill-mcp`: it reads what the
// owner said (variables, policy file), starts the helper with the whole
// environment, and replaces itself by the front with none.
//
// It parses nothing of a skill and serves nothing. The serve command and the
// early branch call [Serve]; the front calls [Received]; owner's commands that
// run a script call [StartMonitor].
package launch
