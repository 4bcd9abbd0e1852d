package rpc

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Mode says which revisions of MCP are served (MCP_PROTOCOL).
type Mode string

// The modes.
const (
	// Auto serves every revision and decides message by message. The zero value means the same.
	Auto Mode = "auto"
	// Legacy serves only revisions with the initialize handshake (2024-11-05 to 2025-11-25).
	Legacy Mode = "legacy"
	// Modern serves only the stateless revision 2026-07-28.
	Modern Mode = mcp.ProtocolVersion20260728
)

// ParseMode reads MCP_PROTOCOL; blank means Auto.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(strings.TrimSpace(text)); mode {
	case "", Auto:
		return Auto, nil
	case Legacy, Modern:
		return mode, nil
	default:
		return "", fmt.Errorf("read MCP_PROTOCOL: %q is not auto, legacy or %s", text, Modern)
	}
}

// versions lists the revisions a mode serves, newest first.
func (m Mode) versions() []string {
	switch m {
	case Legacy:
		return mcp.LegacyProtocolVersions()
	case Modern:
		return []string{mcp.ProtocolVersion20260728}
	default:
		return append([]string(nil), mcp.ValidProtocolVersions...)
	}
}

// declaredVersion is the revision a request names in its _meta, "" for none.
func declaredVersion(meta json.RawMessage) string {
	if meta == nil {
		return ""
	}
	return unquote(lookup(meta, mcp.MetaKeyProtocolVersion))
}

// era decides whether a request is of the stateless revision, and refuses what
// the mode does not serve. A request that names no revision, or one before
// 2026-07-28, is of the old era.
func (m Mode) era(msg *Message, meta json.RawMessage) (modern bool, fault *Error) {
	version, method := declaredVersion(meta), msg.Method
	modern = mcp.IsModernProtocol(version)
	switch {
	case m == Legacy && (modern || method == string(mcp.MethodServerDiscover)):
		return false, Errorf(CodeMethodNotFound, "method not found: %s", method)
	case modern && !mcp.IsValidProtocolVersion(version):
		return true, unsupportedVersion(version, m.versions())
	case m == Modern && method == string(mcp.MethodInitialize):
		return false, unsupportedVersion(unquote(msg.param("protocolVersion")), m.versions())
	case m == Modern && !modern:
		return false, Errorf(CodeInvalidParams, "params._meta must name %q: only revision %s is served here",
			mcp.MetaKeyProtocolVersion, Modern)
	}
	return modern, nil
}

func unsupportedVersion(requested string, supported []string) *Error {
	return &Error{
		Code:    CodeUnsupportedVersion,
		Message: fmt.Sprintf("protocol version %q is not served here: use %s", requested, strings.Join(supported, ", ")),
		Data:    mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: requested},
	}
}
