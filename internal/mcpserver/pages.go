package mcpserver

import (
	"encoding/base64"
	"encoding/json"

	"skill-mcp/internal/rpc"
)

const (
	// pageItems is how many items a page of any list has at most.
	pageItems = 100
	// pageBytes is how long a page may become; an item is never split, so a
	// page of one item may be longer.
	pageBytes = 1 << 20
)

// page is the part of a list that one answer carries, each item encoded.
type page struct {
	items []json.RawMessage
	next  string // cursor, "" = the end
}

// turn gives the page of a list of n items that begins after the cursor. key
// names item i for good: pages are turned by it and not by position, so that a
// list which changed between two calls skips and repeats nothing that stayed.
func turn(rawCursor string, n int, key func(int) string, item func(int) (any, error)) (page, error) {
	first, err := after(rawCursor, n, key)
	if err != nil {
		return page{}, err
	}
	out := page{items: []json.RawMessage{}}
	size := 0
	for i := first; i < n; i++ {
		if len(out.items) == pageItems {
			out.next = cursor(key(i - 1))
			break
		}
		v, err := item(i)
		if err != nil {
			return page{}, err
		}
		if v == nil { // nothing to show for it
			continue
		}
		text, err := encode(v)
		if err != nil {
			return page{}, err
		}
		if size += len(text); size > pageBytes && len(out.items) > 0 {
			out.next = cursor(key(i - 1))
			break
		}
		out.items = append(out.items, json.RawMessage(text))
	}
	return out, nil
}

// after gives the index behind the item that the cursor names.
func after(rawCursor string, n int, key func(int) string) (int, error) {
	if rawCursor == "" {
		return 0, nil
	}
	want, err := base64.RawURLEncoding.DecodeString(rawCursor)
	if err != nil {
		return 0, rpc.Errorf(rpc.CodeInvalidParams, "the cursor is not one of this server's; begin the list again without one")
	}
	for i := range n {
		if key(i) == string(want) {
			return i + 1, nil
		}
	}
	return 0, rpc.Errorf(rpc.CodeInvalidParams, "the list has changed since this cursor was given; begin again without one")
}

func cursor(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// params reads the parameters of a method by their exact names. What is of
// another type, or another writing of a name, is refused.
func params(raw json.RawMessage, into map[string]*string) error {
	if len(raw) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "params must be an object")
	}
	for name, to := range into {
		value, ok := members[name]
		if !ok || string(value) == "null" {
			continue
		}
		if value[0] != '"' || json.Unmarshal(value, to) != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "params.%s must be a string", name)
		}
	}
	return nil
}
