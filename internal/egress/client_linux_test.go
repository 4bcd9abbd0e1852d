package egress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// blockSize is how much the byte movers of the tests write at a time.
const blockSize = 256 << 10

// take reads to the end and answers with how many bytes there were.
func take(c net.Conn) {
	n, _ := io.Copy(io.Discard, c)
	fmt.Fprintf(c, "%d", n)
}

// give sends for as long as it is read.
func give(c net.Conn) {
	defer c.Close()
	block := make([]byte, blockSize)
	for {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// client is the program of role client: what it does, where, and how often.
func client(args []string) error {
	if len(args) != 3 {
		return errors.New("want: what address count")
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	began := time.Now()
	switch args[0] {
	case "send":
		err = sendBlocks(args[1], count)
	case "receive":
		err = receiveBlocks(args[1], count)
	case "short":
		err = shortConnections(args[1], count)
	case "hold":
		err = holdConnections(args[1], count)
	}
	fmt.Printf("%.6f", time.Since(began).Seconds())
	return err
}

// sendBlocks sends and waits until the server has counted.
func sendBlocks(address string, count int) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	block := make([]byte, blockSize)
	for range count {
		if _, err := c.Write(block); err != nil {
			return err
		}
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	said, err := io.ReadAll(c)
	if err == nil && string(said) != strconv.Itoa(count*blockSize) {
		err = fmt.Errorf("server counted %q of %d", said, count*blockSize)
	}
	return err
}

func receiveBlocks(address string, count int) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.CopyN(io.Discard, c, int64(count*blockSize))
	return err
}

// shortConnections says a word on each, one after the other.
func shortConnections(address string, count int) error {
	for i := range count {
		if err := shortConnection(address); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return nil
}

func shortConnection(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	word := []byte("word")
	if _, err := c.Write(word); err != nil {
		return err
	}
	_, err = io.ReadFull(c, word)
	return err
}

// holdConnections opens all at once and says how many there are. One family: a
// refused connection is tried once.
func holdConnections(address string, count int) error {
	open := 0
	var held []net.Conn
	for range count {
		c, err := net.DialTimeout("tcp4", address, 5*time.Second)
		if err != nil {
			continue
		}
		held = append(held, c)
		open++
	}
	fmt.Printf("%d ", open)
	for _, c := range held {
		c.Close()
	}
	return nil
}
