// Package uring is an io_uring for sockets, as an event loop needs it: sends, receives into memory that all connections
// share, readiness, and one system call that submits what was staged and waits for what completes. What a ring for
// files needs is elsewhere, in device/uring; the two have the kernel's layouts in common and little else.
//
//	submission entries   | sqe | sqe | ... |     filled at tail & mask, taken by the kernel in Enter
//	completion ring      | cqe | cqe | ... |     filled by the kernel, taken at head & mask
//	buffer ring          | buffer | ... |        memory for receives, lent at tail & mask; each comes back with the
//	                                             completion that filled it, and is lent again by Recycle or Replace
//
// One goroutine at a time uses a Ring. It may change threads in between: the kernel runs a receive's work on the thread
// that staged it, wherever that one waits (IORING_SETUP_COOP_TASKRUN, no IORING_SETUP_SINGLE_ISSUER).
package uring
