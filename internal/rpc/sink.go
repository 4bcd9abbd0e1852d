package rpc

// Sink takes the messages for one client, in order. A frame is one message on
// one line without its line end; the Sink owns it afterwards.
type Sink interface {
	// Put queues a frame and sees to it that it is sent soon. It must not wait
	// for the client. A droppable frame (progress, a log line) may be left out
	// when the client reads too slowly; no other may.
	Put(frame []byte, droppable bool)
	// Flush helps to send what is queued. It may wait for the client.
	Flush()
}
