// Package uring is the device over io_uring, with O_DIRECT. The structures and the setup call are
// iouring-go's; its ring with a channel and a goroutine's work for every request is not used. The
// two queues that the kernel maps into the process are driven here:
//
//	submission entries   | sqe | sqe | sqe | ... |      filled by Stage at tail & mask
//	submission ring      head (kernel's)  tail (ours)   array: entry i of the ring is entry i of the entries
//	completion ring      head (ours)  tail (kernel's)   | cqe | cqe | ... | twice as many
//
// One io_uring_enter submits all that is staged and, where the caller wants it, waits as well. The
// user data of an entry is a slot's number, never a pointer.
package uring
