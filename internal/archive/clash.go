package archive

import (
	"slices"
	"strings"
)

// MarkClashes finds paths that are one file on a system that ignores case and
// normalisation: two entries, an entry and a folder that another one implies, a
// file that is also a folder. Both sides get the problem. Entries whose name is
// already refused take no part. Open and OpenFolder have called it; it is for
// lists of entries from elsewhere.
//
// It sorts by key with the separator below every character, so a folder stands
// directly before what is in it and twins are neighbours. Of many entries below
// a folder that is written in two ways at least one on each side is marked.
func MarkClashes(entries []Entry) {
	sorted := make([]keyed, 0, len(entries))
	for i := range entries {
		p := entries[i].Problem
		if p != nil && (p.UnsafeName() || p.Code == PathDepth) {
			continue
		}
		sorted = append(sorted, keyed{sortKey(entries[i].Name), i})
	}
	slices.SortFunc(sorted, func(a, b keyed) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return a.index - b.index
	})
	for k := 1; k < len(sorted); k++ {
		a, b := &entries[sorted[k-1].index], &entries[sorted[k].index]
		if why := clash(sorted[k-1].key, sorted[k].key, a, b); why != "" {
			markBoth(a, b, why)
		}
	}
}

type keyed struct {
	key   string
	index int
}

// sortKey is Key with the separator below every character of a name.
func sortKey(name string) string {
	key := Key(name)
	if !strings.Contains(key, "/") {
		return key
	}
	b := []byte(key)
	for i, c := range b {
		if c == '/' {
			b[i] = 0
		}
	}
	return string(b)
}

func within(key, folder string) bool {
	return len(key) > len(folder) && key[len(folder)] == 0 && strings.HasPrefix(key, folder)
}

func clash(keyA, keyB string, a, b *Entry) string {
	if keyA == keyB {
		if a.Folder != b.Folder {
			return "a file and a folder have one name"
		}
		if a.Name == b.Name {
			return "two entries have this name"
		}
		return "two entries have this name but for case or Unicode form"
	}
	if !a.Folder && within(keyB, keyA) {
		return "a file and a folder have one name"
	}
	if spelledApart(a.Name, b.Name) {
		return "a folder is written in two ways that differ in case or Unicode form"
	}
	return ""
}

// spelledApart: the two paths share a folder by key and write it differently.
func spelledApart(a, b string) bool {
	// Up to the last separator that both have, they are written alike.
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	n = strings.LastIndexByte(a[:n], '/') + 1
	headA, _, _ := strings.Cut(a[n:], "/")
	headB, _, _ := strings.Cut(b[n:], "/")
	return headA != headB && sameKey(headA, headB)
}

// sameKey stops at the first difference where it can: neighbours mostly differ.
func sameKey(a, b string) bool {
	if isASCII(a) && isASCII(b) {
		return strings.EqualFold(a, b)
	}
	return Key(a) == Key(b)
}

func markBoth(a, b *Entry, why string) {
	for _, e := range []*Entry{a, b} {
		if e.Problem == nil {
			other := b
			if e == b {
				other = a
			}
			e.Problem = fault(PathDuplicate, "%s: %s", why, Shown(other.Name)).at(e.Name)
		}
	}
}
