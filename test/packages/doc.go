// Package packages makes every package of this platform as a release does,
// installs it the way a person would, and uses what was installed: initialize
// and a confirmed run inside the fence. It needs root for dpkg, npm, and what
// test/install brings; nothing is asked of a registry.
package packages
