// Package fence builds the child that runs one script: namespaces, cgroup,
// limits, Landlock, seccomp, canary and execve, as one ordered list of steps.
//
// It cannot decide what may run (the monitor does) and parses nothing that a
// skill author or a model wrote. Only the monitor and cmd/skill-exec import it.
package fence
