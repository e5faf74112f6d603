// Package libaio is the device over Linux's asynchronous I/O contexts (io_setup, io_submit,
// io_getevents), by raw system calls and with O_DIRECT.
//
// The kernel maps a context's completion ring into the process:
//
//	id | nr | head | tail | magic | compat | incompat | header length | event 0 | event 1 | ... | event nr-1
//	          ^ ours  ^ the kernel's                                    data, obj, result, result 2: 8 bytes each
//
// so completions that have arrived cost no system call; only waiting does.
package libaio
