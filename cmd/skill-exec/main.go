// Command skill-exec is the helper of skill-mcp. It has two roles, named by its
// only argument: monitor, which skill-mcp starts once, and child, which the
// monitor starts for each run. It is of no use by hand and must not be setuid.
package main

import (
	"fmt"
	"os"

	"skill-mcp/internal/fence"
	"skill-mcp/internal/monitor"
)

func main() {
	role := ""
	if len(os.Args) == 2 {
		role = os.Args[1]
	}
	switch role {
	case "child":
		os.Exit(fence.Child())
	case "monitor":
		socket, boot, err := handover()
		if err != nil {
			fmt.Fprintf(os.Stderr, "skill-exec: %v\n", err)
			os.Exit(1)
		}
		os.Exit(monitor.Main(socket, boot))
	}
	fmt.Fprintln(os.Stderr, "skill-exec: started by skill-mcp with the role monitor; it does nothing by hand")
	os.Exit(2)
}
