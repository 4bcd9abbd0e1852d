// Package order is what crosses between the two sides of one run: the order
// that spawn writes and the child in fence carries out, and the records the
// child answers with. Both sides walk the same fields by the same code.
//
// It decides nothing and carries nothing out: beside the encoding it makes and
// reads memory files, no other system call is its own. Only spawn and fence
// import it.
package order
