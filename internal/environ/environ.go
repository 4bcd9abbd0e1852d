// Package environ holds the environment the server was started with: it moves
// it out of the process's reach of others and wipes the block that the kernel
// shows to them.
//
// It decides nothing about who gets which variable. Only the monitor calls it.
package environ

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
	Scrubbed    = "scrubbed"
	Unsupported = "unsupported"
	Failed      = "failed"
)

// Environ is the environment the server was started with, values raw. The
// first of two entries of one name counts, as for getenv.
type Environ map[string]string

// Take moves the environment out of the process: into memory that only
// this process can read, with nothing left to inherit by accident.
func Take() Environ {
	e := Environ{}
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
		return wire.Scrub{State: Failed, Reason: err.Error()}
	}
	return wire.Scrub{State: Scrubbed, Bytes: bytes}
}

// ProxyNames are the variables that lead a program to a proxy, in the order in
// which they count.
func ProxyNames() []string { return []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} }

// Proxy returns the proxy that the environment names: the first defined of the
// four decides, also when it is empty.
func (e Environ) Proxy() (value string, set bool) {
	for _, n := range ProxyNames() {
		if v, ok := e[n]; ok {
			return v, v != ""
		}
	}
	return "", false
}

// zoneinfo is where TZ values that are paths point.
const zoneinfo = "/usr/share/zoneinfo/"

// ZoneName makes a TZ that is a path of the zone database into the zone's
// name: node takes the path form for an unknown zone, and the path is not
// readable in the fence.
func ZoneName(tz string) string {
	if name, ok := strings.CutPrefix(strings.TrimPrefix(tz, ":"), zoneinfo); ok {
		return name
	}
	return tz
}

// SecretIn returns the first of names whose value the text holds, "" for none.
// Values under eight bytes are no secrets and would be found by chance.
func (e Environ) SecretIn(text string, names []string) string {
	const least = 8
	for _, n := range names {
		if v := e[n]; len(v) >= least && strings.Contains(text, v) {
			return n
		}
	}
	return ""
}
