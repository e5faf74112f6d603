// Package eventfd makes the descriptors behind device.Queue.EventFD: counters in the kernel that an
// epoll set can watch. Nobody reads them; each signal is an edge.
//
//	completion --Signal--> counter +1 --edge--> epoll set, edge triggered --> the loop polls the queue
//
//	F1  A signal comes after what it announces can be polled, so whoever polls after the edge misses nothing.
package eventfd
