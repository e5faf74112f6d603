//go:build !linux

package numa

import "fmt"

// System is empty here: nothing is known of nodes.
func System() (Topology, error) { return Topology{}, nil }

// Pin fails here. Nobody calls it, for there are no processors to choose from.
func Pin(processor int) error {
	return fmt.Errorf("cannot pin a worker to processor %d: this system offers no way", processor)
}
