// Package ui is the page that an owner looks at: skills and their problems,
// what each script may reach, the last runs, and the doctor's table.
//
// It renders what it is given and answers GET and HEAD for whoever has the
// token of its address. It changes nothing, starts nothing, and its page runs
// no script and loads nothing. The ui command calls it.
package ui
