package egresswire

// Evidence is what one run did with the network. Counts are since the start.
type Evidence struct {
	// Way is how the run reached this process: "tun", "packet", "proxy", or
	// "none" while no device has arrived.
	Way string `json:"way"`
	// Hosts has one entry for each host something was dialed for, in the order
	// of the first connection, at most MaxHosts.
	Hosts []Host `json:"hosts"`
	// Refused has one entry for each target and reason, in the order of the
	// first refusal, at most MaxRefused; the first is what a note names.
	Refused []Refusal `json:"refused"`
	// RefusedMore counts refusals that found Refused full.
	RefusedMore int64 `json:"refusedMore"`
	// Dropped counts what the limits turned away.
	Dropped Dropped `json:"dropped"`
}

// MaxHosts and MaxRefused bound a report, so that a run cannot make it larger
// than a message: 64 + 96 entries with names of 253 bytes take 56 KiB.
const (
	MaxHosts   = 64
	MaxRefused = 96
)

// OtherHosts is the name of the entry that adds up the hosts after MaxHosts-1.
const OtherHosts = "(others)"

// Host is what went to and came from one name.
type Host struct {
	Host string `json:"host"`
	// Connections counts those the host accepted, Failed those it did not.
	Connections int64 `json:"connections"`
	Failed      int64 `json:"failed"`
	// BytesIn is what the host sent to the run, BytesOut what the run sent.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
}

// Reason says why something was refused.
type Reason string

const (
	// ReasonName: the name is not in the list.
	ReasonName Reason = "name-not-listed"
	// ReasonAddress: an address was dialed that stands for no listed name.
	ReasonAddress Reason = "address-not-listed"
	// ReasonPort: the policy narrows the ports and this is none of them.
	ReasonPort Reason = "port-not-allowed"
	// ReasonInternal: the listed name resolves to an address that is not
	// public, and the policy does not list it as internal.
	ReasonInternal Reason = "internal-address"
	// ReasonServerName: the TLS server name of a connection is not listed.
	ReasonServerName Reason = "server-name-not-listed"
	// ReasonHostHeader: the Host header of a plain HTTP request is not listed.
	ReasonHostHeader Reason = "host-header-not-listed"
	// ReasonUDP: a datagram that is no question to the name server.
	ReasonUDP Reason = "udp"
	// ReasonProtocol: a packet that is neither TCP nor UDP.
	ReasonProtocol Reason = "protocol"
	// ReasonMalformed: a request or hello that cannot be read, so its host
	// cannot be told.
	ReasonMalformed Reason = "malformed"
)

// Refusal is one target that was refused for one reason.
type Refusal struct {
	// Target is a name, or an address with its port. What is not a letter,
	// digit or one of ".-_:[]*/" is written as "?".
	Target string `json:"target"`
	Reason Reason `json:"reason"`
	// Detail is the address of ReasonInternal, the kind of address of
	// ReasonAddress when it is not public, the protocol number of
	// ReasonProtocol; else empty.
	Detail string `json:"detail"`
	Count  int64  `json:"count"`
}

// Dropped counts what was over a limit.
type Dropped struct {
	Connections int64 `json:"connections"`
	HalfOpen    int64 `json:"halfOpen"`
	DNSQueries  int64 `json:"dnsQueries"`
	Names       int64 `json:"names"`
}
