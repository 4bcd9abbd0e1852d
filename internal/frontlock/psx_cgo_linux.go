//go:build cgo

package frontlock

import (
	"os"
	"strconv"
)

// psxNeeds is what the C half of libpsx reads after it has restricted the first
// thread: it walks /proc/self/task until every thread has followed, and ends
// the process when it cannot. Listing that directory, without reading a file in it,
// has to be allowed in such a build; the released programs are built without cgo.
//
// Cause: libpsx 1.2.78 with cgo; go-landlock has the same under the number 39.
// Delete when: the least kernel has Landlock ABI 8, which reaches all threads.
func psxNeeds() []string { return []string{"/proc/" + strconv.Itoa(os.Getpid()) + "/task"} }
