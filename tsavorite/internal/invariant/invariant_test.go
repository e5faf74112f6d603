package invariant_test

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
)

// TestViolatedPanics: the panic says that it is our bug, which invariant, and what was seen.
func TestViolatedPanics(t *testing.T) {
	defer func() {
		const want = "BUG: invariant H1: head 7 lies above tail 5"
		if got := recover(); got != want {
			t.Errorf("panic says %q, want %q", got, want)
		}
	}()
	invariant.Violated("H1", "head %d lies above tail %d", 7, 5)
}
