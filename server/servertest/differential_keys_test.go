package servertest_test

import (
	"testing"

	"github.com/pyropedb/pyrope/server/servertest"
)

// TestSameTransfersAsRedis is TestSameRepliesAsRedis for the commands that copy, move, dump and
// compare values.
func TestSameTransfersAsRedis(t *testing.T) { compareFamily(t, servertest.NewKeysGenerator) }
