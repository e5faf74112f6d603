//go:build invariants

package invariant_test

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
)

func TestEnabled(t *testing.T) {
	if !invariant.Enabled {
		t.Error("the dear checks are off in a build with the invariants tag")
	}
}
