package list_test

import (
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/list"
)

// TestRequestsKeepTheirOrder is Q1 and Q2.
func TestRequestsKeepTheirOrder(t *testing.T) {
	var l list.Requests
	if l.Pop() != nil || l.First() != nil || l.Len() != 0 {
		t.Fatal("the zero list is not empty")
	}
	requests := make([]device.Request, 10)
	for round := range 3 {
		for i := range requests {
			requests[i] = device.Request{Token: uint64(i), Owner: &l}
			l.Push(&requests[i])
		}
		if l.Len() != len(requests) || l.First() != &requests[0] {
			t.Fatalf("round %d: length %d", round, l.Len())
		}
		if r := l.Pop(); r != &requests[0] || r.Next != nil {
			t.Fatalf("round %d: popped %v", round, r)
		}
		done := make([]*device.Request, 4)
		for want := uint64(1); want < 10; {
			n := l.PopInto(done)
			if n == 0 {
				t.Fatalf("round %d: empty before request %d", round, want)
			}
			for _, r := range done[:n] {
				if r.Token != want || r.Next != nil || r.Owner != nil {
					t.Fatalf("round %d: got %+v, want token %d with the device's fields cleared", round, r, want)
				}
				want++
			}
		}
		if l.PopInto(done) != 0 || l.Len() != 0 {
			t.Fatalf("round %d: not empty at the end", round)
		}
	}
}
