//go:build !unix

package usage

import "time"

// processTimes is not measured here.
func processTimes() (user, system time.Duration) { return 0, 0 }
