package monitor

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"skill-mcp/internal/wire"
)

// The states of a scrub, as wire.Scrub carries them.
const (
	scrubbed    = "scrubbed"
	unsupported = "unsupported"
	scrubFailed = "failed"
)

// environ is the environment the server was started with, values raw. The
// first of two entries of one name counts, as for getenv.
type environ map[string]string

// takeEnviron moves the environment out of the process: into memory that only
// this process can read, with nothing left to inherit by accident.
func takeEnviron() environ {
	e := environ{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := e[name]; !twice && name != "" {
			e[name] = value
		}
	}
	os.Clearenv()
	return e
}

// errNoRange means that the kernel did not say where the block lies.
var errNoRange = errors.New("no usable range in /proc/self/stat")

// envRange finds the exec-time environment block in the text of
// /proc/self/stat: fields 50 and 51, counted from one, after the last
// parenthesis, since the program's name may hold anything.
func envRange(stat []byte) (start, end int64, err error) {
	const afterName, envStart, envEnd = 3, 50, 51
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= envEnd-afterName {
		return 0, 0, errNoRange
	}
	start, err1 := strconv.ParseInt(string(fields[envStart-afterName]), 10, 64)
	end, err2 := strconv.ParseInt(string(fields[envEnd-afterName]), 10, 64)
	if err1 != nil || err2 != nil || start <= 0 || end < start {
		return 0, 0, errNoRange
	}
	return start, end, nil
}

// scrubState makes the outcome of a wipe into what crosses the wall.
func scrubState(bytes int64, err error) wire.Scrub {
	if err != nil {
		return wire.Scrub{State: scrubFailed, Reason: err.Error()}
	}
	return wire.Scrub{State: scrubbed, Bytes: bytes}
}
