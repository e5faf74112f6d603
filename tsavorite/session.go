package tsavorite

// TEMPORARY declarations: signatures first, bodies follow.

// Store is the engine.
type Store struct{}

// Open returns a store.
func Open(o Options) (*Store, error) { panic("soon") }

// Close stops the store.
func (s *Store) Close() error { panic("soon") }

// NewSession returns a session.
func (s *Store) NewSession() (*Session, error) { panic("soon") }

// Info is a snapshot of the store's addresses, sizes and counters.
type Info struct {
	BeginAddress, HeadAddress, FlushedUntilAddress, SafeReadOnlyAddress, ReadOnlyAddress, TailAddress uint64

	PageBytes, MemoryBytes, ResidentBytes    uint64 // ResidentBytes: log pages in memory
	IndexBuckets, IndexBytes                 uint64
	OverflowBuckets, OverflowBytes           uint64
	IndexGrowths                             uint64
	Reads, Writes, PendingReads, DeviceReads uint64 // operations; operations that went to the device; device reads issued
	FlushedBytes                             uint64
}

// Info returns a snapshot.
func (s *Store) Info() Info { panic("soon") }

// Truncate drops every record below the present tail, whatever its namespace; used by FLUSHALL.
func (s *Store) Truncate() error { panic("soon") }

// Session carries out operations for one goroutine at a time.
type Session struct{}

// OnBlock sets the hook that runs before the session's first wait after each Enter.
func (s *Session) OnBlock(hook func()) { panic("soon") }

// Enter protects the session and samples the clock.
func (s *Session) Enter() { panic("soon") }

// Leave ends the protection.
func (s *Session) Leave() { panic("soon") }

// Now is the Unix time in milliseconds sampled by Enter.
func (s *Session) Now() int64 { panic("soon") }

// Err is the cause of the last StatusError.
func (s *Session) Err() error { panic("soon") }

// Close frees the session.
func (s *Session) Close() { panic("soon") }

// Read looks the key up and calls r once; it waits for the device when it must.
func (s *Session) Read(key Key, token uint64, r Reader) Status { panic("soon") }

// ReadAsync is Read that may return Pending.
func (s *Session) ReadAsync(key Key, token uint64, r Reader) Status { panic("soon") }

// ReadBatch reads many keys with their cache misses overlapped and their device reads issued in
// one submission, and calls r once a key, in order, with the key's index as token.
func (s *Session) ReadBatch(keys []Key, r Reader) { panic("soon") }

// Upsert gives the key a value, whatever it had: Found, Created or Blind (or OutOfMemory, TooLarge).
func (s *Session) Upsert(key Key, value []byte, m Metadata) Status { panic("soon") }

// RMW runs u on the key; it waits for the device when it must.
func (s *Session) RMW(key Key, u Updater) Status { panic("soon") }

// RMWAsync is RMW that may return Pending.
func (s *Session) RMWAsync(key Key, token uint64, u AsyncUpdater) Status { panic("soon") }

// Delete removes the key without asking the device whether it was there: Deleted, NotFound or Blind.
func (s *Session) Delete(key Key) Status { panic("soon") }

// CompletePending collects completions of async operations, and with wait blocks until none is
// left. It returns how many are still pending.
func (s *Session) CompletePending(wait bool) int { panic("soon") }

// Latch latches the keys' buckets exclusively, in order, so that the verbs that follow on these
// keys are one atomic step. Unlatch must follow. Only these keys may be touched in between.
func (s *Session) Latch(keys []Key) { panic("soon") }

// Unlatch releases what Latch took.
func (s *Session) Unlatch() { panic("soon") }

// Scan calls v for the live records of a namespace, in log order from cursor (0 to begin), at most
// limit records looked at (0: no limit). It returns the cursor to go on from, 0 at the end. A record that
// is live during the whole of a series of calls is visited at least once, and one that moves may be visited twice.
func (s *Session) Scan(namespace uint32, cursor uint64, limit int, v Visitor) (uint64, error) {
	panic("soon")
}

// RandomKey calls v with one live record of the namespace, chosen at random; NotFound when there is none.
func (s *Session) RandomKey(namespace uint32, v Visitor) Status { panic("soon") }
