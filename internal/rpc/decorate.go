package rpc

import (
	"github.com/mark3labs/mcp-go/mcp"
)

// decorate adds to the result of a Method what revision 2026-07-28 requires:
// resultType, the server's identity, and for lists and reads the caching hints.
// A result with mcp-go's fields has them set; for any other the members to add
// are returned.
func (c *Call) decorate(result any, cacheable bool) (extra string) {
	if !c.modern {
		return ""
	}
	cfg := &c.s.d.cfg
	ttl := cfg.CacheTTL.Milliseconds()
	if fields, ok := result.(mcp.ResultMetadata); ok {
		if fields.GetResultType() == "" {
			fields.SetResultType(mcp.ResultTypeComplete)
		}
		if meta := fields.EnsureResultMeta(); meta != nil && meta.ServerInfo() == nil {
			meta.SetServerInfo(cfg.Identity)
		}
		if hints, ok := result.(mcp.CacheHintSetter); ok && cacheable {
			hints.SetCacheHints(ttl, cfg.CacheScope)
		}
		return ""
	}
	add := struct {
		ResultType mcp.ResultType `json:"resultType"`
		Meta       map[string]any `json:"_meta"`
		TTL        *int64         `json:"ttlMs,omitempty"`
		Scope      mcp.CacheScope `json:"cacheScope,omitempty"`
	}{ResultType: mcp.ResultTypeComplete, Meta: map[string]any{mcp.MetaKeyServerInfo: cfg.Identity}}
	if cacheable {
		add.TTL, add.Scope = &ttl, cfg.CacheScope
	}
	text, err := appendValue(nil, add)
	if err != nil {
		return ""
	}
	return string(text[1 : len(text)-1])
}
