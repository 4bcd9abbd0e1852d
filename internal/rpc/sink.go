package rpc

// Sink takes the messages for one client, in order. A frame is one message on
// one line without its line end; the Sink owns it afterwards.
type Sink interface {
	// Queue puts a frame behind what is queued. It does not wait for the
	// client. A droppable frame (progress, a log line) may be left out when the
	// client reads too slowly; no other may. Wake or Flush follows.
	Queue(frame []byte, droppable bool)
	// Wake has the queue sent by somebody else. It does not wait.
	Wake()
	// Flush sends the queue. It may wait for the client.
	Flush()
}
