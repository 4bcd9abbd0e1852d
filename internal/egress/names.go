package egress

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// maxNames bounds the table: a wildcard lists more names than anyone can use,
// and each takes an entry a run can ask for. 2048 names of the longest kind
// are under 1 MiB.
const maxNames = 2048

// firstName is the address of the first name. The 256 addresses before it are
// left for the run, its name server and what may come.
var firstName = netip.AddrFrom4([4]byte{198, 18, 1, 0})

// nameTable gives each listed name one address of its own and that address's
// IPv6 twin, for the life of the run: neither comes to stand for a second name.
type nameTable struct {
	mu     sync.Mutex
	byName map[string]netip.Addr
	names  []string // by address, from firstName
}

func newNameTable() *nameTable {
	return &nameTable{byName: map[string]netip.Addr{}}
}

// address is the address of a listed name; false when the table is full.
func (t *nameTable) address(name string) (netip.Addr, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a, ok := t.byName[name]; ok {
		return a, true
	}
	if len(t.names) >= maxNames {
		return netip.Addr{}, false
	}
	base := firstName.As4()
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(base[:])+uint32(len(t.names)))
	a := netip.AddrFrom4(b)
	t.names = append(t.names, name)
	t.byName[name] = a
	return a, true
}

// name is the name an address, or its IPv6 twin, stands for.
func (t *nameTable) name(a netip.Addr) (string, bool) {
	if twin, ok := address4(a); ok {
		a = twin
	}
	if !a.Is4() {
		return "", false
	}
	b, base := a.As4(), firstName.As4()
	index := int64(binary.BigEndian.Uint32(b[:])) - int64(binary.BigEndian.Uint32(base[:]))
	t.mu.Lock()
	defer t.mu.Unlock()
	if index < 0 || index >= int64(len(t.names)) {
		return "", false
	}
	return t.names[index], true
}
