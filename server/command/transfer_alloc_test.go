package command

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// TestTransfersAllocateNothing holds for values that fit the scratch buffers.
func TestTransfersAllocateNothing(t *testing.T) {
	c, client := newTestContext(t, tsavorite.Options{}), &Client{}
	serve(t, c, client, requests("SET a "+strings.Repeat("v", 100)))
	input := []byte(requests("RENAME a b", "COPY b a REPLACE", "DUMP a", "SETIFMATCH e value 0", "SETWITHETAG e more",
		"GETWITHETAG e", "DELIFGREATER e 9", "RENAMENX b c", "MOVE c 1"))
	last := []byte(requests("SELECT 1", "DEL c", "SELECT 0"))
	allocations := testing.AllocsPerRun(100, func() {
		c.Out = c.Out[:0]
		c.Serve(client, input)
		c.Serve(client, last)
	})
	if allocations > 0 {
		t.Errorf("%v allocations; the replies are %q", allocations, c.Out)
	}
}
