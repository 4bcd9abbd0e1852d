package early

import (
	"fmt"
	"os"

	"skill-mcp/internal/launch"
)

// init is the one exception to the rule against it. Go initialises packages in
// the order of their dependencies and then of their import paths, so this one
// comes before the protocol libraries, whose own initialisation costs about as
// much as starting a node process's quarter: paid once, by the front, and not
// twice. Delete when those libraries initialise lazily (jsonschema/v6 compiles
// its meta-schemas in package variables as of 6.0.2).
func init() {
	if !plainServe(os.Args) {
		return
	}
	err := launch.Serve(os.LookupEnv, launch.Options{})
	fmt.Fprintln(os.Stderr, "skill-mcp:", err)
	os.Exit(2)
}

// plainServe reports whether the command line asks for the stdio server alone.
func plainServe(args []string) bool {
	return len(args) == 1 || (len(args) == 2 && args[1] == "serve")
}
