//go:build !unix

package archive

import "time"

// processorTime: the clock on the wall stands for it here.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
