//go:build !linux

package egress

import "errors"

// Run is refused outside Linux.
func Run(int, int) error {
	return errors.New("serve a run's network: network mode declared is enforced on linux only")
}
