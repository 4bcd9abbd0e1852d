package egresswire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"skill-mcp/internal/ipaddr"
)

// Mode is how the run reaches the process.
type Mode string

const (
	// ModeTUN: a network device of the run's own namespace.
	ModeTUN Mode = "tun"
	// ModeProxy: an HTTP proxy on a loopback port, where there is no namespace.
	ModeProxy Mode = "proxy"
)

// Config is all the process knows. Nothing of it comes from the run.
type Config struct {
	Mode Mode `json:"mode"`
	// Hosts are the names the run may reach: "example.com", "*.example.com"
	// (any name below, not example.com itself), or an address. At most
	// MaxConfigHosts, each as CheckHost has it. They are told last, in a message
	// of their own.
	Hosts []string `json:"-"`
	// Internal are names, addresses and prefixes of the owner's policy that may
	// be reached although their address is not public. It allows no host that
	// Hosts does not have.
	Internal []string `json:"internal"`
	// Ports narrows the TCP ports; empty means any. 0 is no port: a list of it
	// alone is what is left of two lists that share none.
	Ports []uint16 `json:"ports"`
	// Limits bounds what one run may use; a zero field takes DefaultLimits'.
	Limits Limits `json:"limits"`
	// Upstream is an HTTP proxy, "http://user:password@host:port", through which
	// every connection is made; empty means directly. With one, names are
	// resolved by it and addresses cannot be checked here.
	Upstream string `json:"upstream"`
	// Resolver is "address:port" of the name server to ask instead of the
	// host's own. It comes from a test-only key of the policy.
	Resolver string `json:"resolver"`
	// UID and GID are what a process started as root becomes. 0 means 65534.
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// MaxConfigHosts bounds Hosts and Internal: the list is for a person to read.
const MaxConfigHosts = 128

// Limits bounds what one run may use of the process.
type Limits struct {
	// Connections is how many may be open at once.
	Connections int `json:"connections"`
	// HalfOpen is how many may be waiting for the host's answer at once.
	HalfOpen int `json:"halfOpen"`
	// DNSPerSecond is how many questions are answered; twice as many in a burst.
	DNSPerSecond int `json:"dnsPerSecond"`
	// MemoryBytes is what the process may hold.
	MemoryBytes int64 `json:"memoryBytes"`
	// BytesPerSecond bounds both directions together; 0 means no bound.
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// DefaultLimits returns what the zero fields of Limits mean.
func DefaultLimits() Limits {
	return Limits{
		Connections:  256,  // a browser keeps 6 a host; a crawler of ten hosts fits
		HalfOpen:     64,   // a quarter: an unreachable host must not take all
		DNSPerSecond: 1000, // two a connection at 500 connections a second; 5 % of a core
		MemoryBytes:  memoryFor(256),
		// Off: a bound on bytes is a matter of cost, not of safety.
		BytesPerSecond: 0,
	}
}

// What the process needs to keep what it is asked: one connection holds two
// buffers of 128 KiB in the network stack and two pieces of 64 KiB on their
// way, beside what the process itself is.
const (
	maxConnections = 4096
	ownMemory      = 32 << 20
	oneConnection  = 384 << 10
)

// memoryFor is the least memory for so many connections: 128 MiB for 256.
func memoryFor(connections int) int64 {
	return ownMemory + int64(connections)*oneConnection
}

// WithDefaults returns l with its zero fields filled.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	if l.Connections == 0 {
		l.Connections = d.Connections
	}
	if l.HalfOpen == 0 {
		l.HalfOpen = min(d.HalfOpen, l.Connections)
	}
	if l.DNSPerSecond == 0 {
		l.DNSPerSecond = d.DNSPerSecond
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = memoryFor(l.Connections)
	}
	return l
}

func (l Limits) check() error {
	if l.Connections < 0 || l.Connections > maxConnections {
		return fmt.Errorf("connections %d: 1 to %d", l.Connections, maxConnections)
	}
	if l.HalfOpen < 0 || l.HalfOpen > maxConnections {
		return fmt.Errorf("half-open connections %d: 1 to %d", l.HalfOpen, maxConnections)
	}
	if l.DNSPerSecond < 0 || l.BytesPerSecond < 0 {
		return fmt.Errorf("a rate of %d a second: 0 or more", min(int64(l.DNSPerSecond), l.BytesPerSecond))
	}
	if least := memoryFor(l.WithDefaults().Connections); l.MemoryBytes != 0 && l.MemoryBytes < least {
		return fmt.Errorf("memory of %d bytes: at least %d for so many connections", l.MemoryBytes, least)
	}
	return nil
}

// StandbyTime is how long a process waits for the run it was started for: as
// long as a person may take to approve it (package confirm).
const StandbyTime = 15 * time.Minute

// Check says what is wrong with a configuration, or nil.
func (c Config) Check() error {
	if c.Mode != ModeTUN && c.Mode != ModeProxy {
		return fmt.Errorf("egress mode %q: tun or proxy", c.Mode)
	}
	if len(c.Hosts) > MaxConfigHosts || len(c.Internal) > MaxConfigHosts {
		return fmt.Errorf("%d hosts, %d internal: at most %d each", len(c.Hosts), len(c.Internal), MaxConfigHosts)
	}
	for _, h := range c.Hosts {
		if err := CheckHost(h); err != nil {
			return err
		}
	}
	for _, h := range c.Internal {
		if err := CheckInternal(h); err != nil {
			return err
		}
	}
	if err := c.Limits.check(); err != nil {
		return fmt.Errorf("egress limits: %w", err)
	}
	if c.UID < 0 || c.GID < 0 {
		return fmt.Errorf("egress uid %d, gid %d: 0 or more", c.UID, c.GID)
	}
	return c.checkServers()
}

func (c Config) checkServers() error {
	if c.Upstream != "" {
		if err := checkUpstream(c.Upstream); err != nil {
			return err
		}
	}
	if c.Resolver != "" {
		if _, _, ok := ipaddr.ParsePort(c.Resolver); !ok {
			return fmt.Errorf("egress resolver %q: want an address and a port", c.Resolver)
		}
	}
	return nil
}

// checkUpstream looks at the shape of a proxy URL. Only the http scheme is
// known: the process holds no certificates for a proxy. It is looked at without
// net/url, which the helper would link for this alone; the process itself reads
// the URL with it. No part of the URL gets into an error: it may hold a
// password.
func checkUpstream(s string) error {
	rest, ok := strings.CutPrefix(s, "http://")
	if !ok {
		return errors.New("egress upstream proxy: want http://host:port, and no other scheme")
	}
	rest, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	host, port, hasPort := rest, "", false
	if at := strings.LastIndexByte(rest, ':'); at > strings.LastIndexByte(rest, ']') {
		host, port, hasPort = rest[:at], rest[at+1:], true
	}
	if n, err := strconv.ParseUint(port, 10, 16); hasPort && (err != nil || n == 0) {
		return errors.New("egress upstream proxy: its port is not 1 to 65535")
	}
	if host == "" || path != "" || strings.ContainsAny(s, " \t\r\n?#") {
		return errors.New("egress upstream proxy: want http://host:port and nothing after it")
	}
	return nil
}
