// Command soak keeps the built server busy for a while, treats it badly, and
// checks all the time what has to hold however it is treated: one answer per
// request, progress in order and before its answer, nothing left of a run or of
// a server, memory and descriptors that do not grow.
//
// Five stations work at once, each with servers of its own: one that lives as
// long as the soak and is spoken to over stdio, one over HTTP, one whose
// parties are killed, one whose disks are full, and one that is short of
// descriptors and memory. It ends only processes that it started.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built programs")
	length := flag.Duration("for", time.Minute, "how long")
	out := flag.String("o", "", "also write the summary to this file")
	only := flag.String("only", "", "let only this station work: stdio, http, kills, disk or pressure")
	flag.Parse()
	dir, err := filepath.Abs(*bin)
	if err == nil {
		err = report(dir, *length, *only, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// ending gives the end of the soak as a channel that closes: by the clock, or
// when a person has had enough.
func ending(length time.Duration) <-chan struct{} {
	end := make(chan struct{})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-stop:
		case <-time.After(length):
		}
		close(end)
	}()
	return end
}

// report soaks and prints the summary; violations are an error.
func report(bin string, length time.Duration, only, out string) error {
	led := newLedger()
	if err := soak(bin, length, only, led); err != nil {
		return err
	}
	text := led.summary()
	fmt.Print(text)
	if out != "" {
		if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if n := led.broken(); n > 0 {
		return fmt.Errorf("%d violations", n)
	}
	return nil
}
