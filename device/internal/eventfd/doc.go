// Package eventfd makes the descriptors behind device.Queue.EventFD: counters in the kernel that an
// epoll set can watch. Nobody reads them; each signal is an edge.
package eventfd
