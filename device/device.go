// Package device is the lowest layer of Pyrope: asynchronous, batched reads and writes of one
// linear address space that is kept in segments.
//
//	address space   0 ............ S ............ 2S ............ 3S ......
//	segments        [ segment 0   ][ segment 1   ][ segment 2    ]          S = segment size, a power of two
//	                 gone once       the first       files grow as they are
//	                 truncated       kept            written; never preallocated
//
// A Device hands out Queues. A queue belongs to one goroutine at a time: it submits a slice of
// requests in one call and later polls for the ones that are done, in bulk. No goroutine, channel
// or allocation stands behind a request of a kernel ring. Implementations live one package each
// below this one; package open chooses among them. Package devicetest holds the contract as a test.
//
// Contract, cited by tests as D1 to D8:
//
//	D1  Every request that was submitted comes back from Poll of the same queue exactly once,
//	    with Err set or with Transferred bytes moved. Errors are reported, never swallowed.
//	D2  Submit neither blocks on the device nor fails: what the rings cannot take waits in order.
//	D3  A request may cross segment boundaries.
//	D4  A read beyond what was written is short: Transferred says how far it came, Err is nil.
//	D5  Address, length and memory of a request are multiples of the sector size; anything else
//	    comes back with ErrUnaligned. (File and LocalMemory take any alignment: their sector size is 1.)
//	D6  A read below the truncated address, or racing with the truncation, comes back with
//	    ErrTruncated or with right bytes, never with others.
//	D7  Close of a queue waits for what is in flight; Close of the device refuses later requests with ErrClosed.
//	D8  After Sync returns nil, every write that had completed before the call survives a crash.
package device

// Op is what a request does.
type Op uint8

// The operations of a request.
const (
	OpRead Op = iota
	OpWrite
)

// String returns "read" or "write".
func (o Op) String() string {
	if o == OpWrite {
		return "write"
	}
	return "read"
}

// Request is one read or write. The submitter owns it and its buffer, keeps both reachable and
// untouched from Submit until Poll hands the request back, and may then reuse it. Buffers come
// from package aligned: memory outside the Go heap, so that the kernel may write to it at any time.
type Request struct {
	Op      Op
	Address uint64 // first byte, absolute
	Buffer  []byte // bytes to fill or to write
	Token   uint64 // the submitter's; the device never looks at it
	// Registered is what the queue's Register returned for memory that Buffer lies in, or 0.
	Registered uint32

	// Set when the request comes back.
	Transferred int   // bytes moved; less than len(Buffer) only for a read past the end (D4)
	Err         error // nil, or what went wrong, wrapped with kind, operation and address

	// Next and Scratch are the device's while the request is in flight.
	Next    *Request
	Scratch [4]uint64
	Owner   any // the queue it came through
}

// Device is one store of bytes by absolute address. All methods may be called from any goroutine.
type Device interface {
	// NewQueue returns a queue for one submitter. It fails only when the system is out of
	// descriptors or rings.
	NewQueue() (Queue, error)
	// Sync makes every completed write durable (D8).
	Sync() error
	// Truncate drops the whole segments below begin. Addresses below begin read as ErrTruncated.
	Truncate(begin uint64) error
	// Info says what the device is.
	Info() Info
	// Close refuses new requests, waits for those in flight and releases everything.
	Close() error
}

// Queue submits requests and collects completions for one goroutine at a time; it may move
// between goroutines, as long as two never use it at once.
type Queue interface {
	// Submit passes a batch to the device in as few system calls as it can (D2).
	Submit(batch []*Request)
	// Poll stores completed requests in done and returns how many. With wait it blocks until at
	// least one is there, unless none is in flight. done must not be empty.
	Poll(done []*Request, wait bool) int
	// SubmitAndPoll does what Submit and then Poll do, in one system call where the device can:
	// the loop of a reader that refills whatever came back.
	SubmitAndPoll(batch, done []*Request, wait bool) int
	// InFlight is the number of requests submitted and not yet handed back by Poll.
	InFlight() int
	// EventFD is a descriptor that becomes readable when completions arrive, for an epoll set, or
	// -1 where the device has none (devices that complete within Submit need none). It is to be
	// watched edge triggered: nobody reads it, and queues may share it. Only requests submitted after
	// the first call of EventFD are certain to be announced.
	EventFD() int
	// Close waits for what is in flight and frees the queue (D7).
	Close() error
}

// Registrar is a Queue that can spare the kernel the work of finding and pinning a buffer's memory in
// every request. It is optional: ask with a type assertion.
type Registrar interface {
	// Register pins memory until the queue is closed, and returns the number for Request.Registered. It
	// returns 0, which is no failure, where the kernel cannot, or must not: pinned memory takes RAM
	// whether it is touched or not, and counts against RLIMIT_MEMLOCK.
	Register(memory []byte) uint32
}

// Info describes an open device.
type Info struct {
	Kind             string // null, localmemory, file, libaio, uring
	Reason           string // why this kind was chosen, for the log and for INFO
	SectorSizeBytes  int    // alignment of requests (D5); a power of two, 1 for none
	SegmentSizeBytes uint64
	FileName         string // segment i is the file FileName.i; empty without files
	InFlightLimit    int    // requests the device has with the kernel at once
	RingCount        int    // kernel rings, or workers
}
