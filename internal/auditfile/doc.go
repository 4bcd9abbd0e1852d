// Package auditfile opens the audit file, and hands it once more to a front
// that may open nothing itself.
//
// The launch phase opens the file before the front locks itself. When the owner
// has moved the file away and says so (SIGHUP), the front asks over a socket of
// its own; the monitor opens the path that the owner gave, always that one and
// for appending, and sends the descriptor. Nothing else crosses: a question is
// one byte and names nothing. The launch phase, the monitor, the front and the
// owner's commands call it; it imports nothing of the product.
package auditfile
