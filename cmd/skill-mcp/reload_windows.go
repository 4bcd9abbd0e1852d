package main

import "os"

// reloadSignals is empty: Windows has no signal for it. MCP_SKILL_WATCH=1 does
// the same.
var reloadSignals []os.Signal
