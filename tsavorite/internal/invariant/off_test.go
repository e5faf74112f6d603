//go:build !invariants

package invariant_test

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
)

func TestDisabled(t *testing.T) {
	if invariant.Enabled {
		t.Error("the dear checks run in a build without the invariants tag")
	}
}
