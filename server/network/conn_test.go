package network_test

import (
	"testing"

	"github.com/pyropedb/pyrope/server/network"
)

func TestInMemoryConn(t *testing.T) {
	c := network.NewInMemory(7, "in-process")
	if c.ID != 7 || c.RemoteAddress() != "in-process" || c.LocalAddress() != "in-process" {
		t.Fatalf("got id %d, addresses %q and %q", c.ID, c.RemoteAddress(), c.LocalAddress())
	}
	c.Out = make([]byte, 64<<20)
	if c.OutputFull() {
		t.Fatal("an in-memory connection bounds its output")
	}
	if c.Closing() || c.Killed() {
		t.Fatal("a new connection is closing")
	}
	c.CloseAfterReply()
	c.Kill()
	if !c.Closing() || !c.Killed() {
		t.Fatal("CloseAfterReply or Kill left no trace")
	}
}
