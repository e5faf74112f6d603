// Package list is the intrusive first-in-first-out list of requests that devices keep:
//
//	head -> request -Next-> request -Next-> request <- tail
//
// A list has no lock of its own; the owner guards it.
//
//	Q1  A request is in at most one list at a time; outside of one its Next is nil.
//	Q2  head and tail are nil together, and count is how many Next pointers lead from one to the other, plus one.
package list

import "github.com/pyropedb/pyrope/device"

// Requests is a list. The zero value is empty.
type Requests struct {
	head, tail *device.Request
	count      int
}

// Len returns the number of requests in the list.
func (l *Requests) Len() int { return l.count }

// Push adds r at the end.
func (l *Requests) Push(r *device.Request) {
	r.Next = nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.Next = r
	}
	l.tail = r
	l.count++
}

// First returns the oldest request without removing it, or nil.
func (l *Requests) First() *device.Request { return l.head }

// Pop removes and returns the oldest request, or nil.
func (l *Requests) Pop() *device.Request {
	r := l.head
	if r == nil {
		return nil
	}
	l.head = r.Next
	if l.head == nil {
		l.tail = nil
	}
	r.Next = nil
	l.count--
	return r
}

// PopInto moves the oldest requests to done, as many as fit, and returns how many. They are the
// submitter's again: the device's fields are cleared.
func (l *Requests) PopInto(done []*device.Request) int {
	n := min(l.count, len(done))
	for i := range n {
		r := l.Pop()
		r.Owner = nil
		done[i] = r
	}
	return n
}
