package main

import (
	"os"

	"skill-mcp/internal/config"
	"skill-mcp/internal/launch"
)

// serve becomes the front; it returns only with an error.
func serve(h config.HTTP) error {
	return launch.Serve(os.LookupEnv, launch.Options{HTTP: h})
}

// front takes over from the launch phase.
func front() int {
	cfg, conn, err := launch.Received()
	if err != nil {
		return exitCode(err)
	}
	return serveFront(cfg, conn)
}
