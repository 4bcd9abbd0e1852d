//go:build !linux

package main

import (
	"errors"
	"os"

	"skill-mcp/internal/config"
	"skill-mcp/internal/launch"
)

// serve starts the helper and serves in this process.
func serve(h config.HTTP) error {
	cfg, conn, err := launch.Start(os.LookupEnv, launch.Options{HTTP: h})
	if err != nil {
		return err
	}
	return withCode(serveFront(cfg, conn), nil)
}

// front is a role that only Linux has.
func front() int {
	return exitCode(errors.New("the front is a part of the server; run skill-mcp without arguments"))
}
