package tsavorite

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Pages on the device that a recovery has not read are cold: nobody knows yet whether they are what was written. They are verified
// afterwards, each once, by VerifyColdPages; and by compaction before it moves what they hold, which would make damage look
// sound. Who needs a record in a page that was found damaged gets an error, whatever the bytes there look like.

const (
	// verifyBytes are read at once: little enough to hold up nobody else's reads.
	verifyBytes = 256 << 10
	// verifyAttempts is how often a page is read whose read fails, verifyPause the time between two.
	verifyAttempts = 3
	verifyPause    = 100 * time.Millisecond
)

// coldPages are the pages that a recovery has left cold.
type coldPages struct {
	from, until uint64        // whole pages; set by the recovery, immutable from then on
	verified    atomic.Uint64 // below it all are verified, damaged or gone
	failed      atomic.Bool   // the last VerifyColdPages could not begin

	report  func(DamagedPage)                // see RecoverOptions
	mu      sync.Mutex                       // held where damaged is replaced
	damaged atomic.Pointer[map[uint64]error] // by the start of the page, the map immutable; nil is none
}

// DamagedPage is a page on the device that is not what was written.
type DamagedPage struct {
	Address uint64
	Segment uint64 // of the device
	Offset  uint64 // within the segment
	Err     error
}

// VerifyStatus is how far the cold pages are verified.
type VerifyStatus struct {
	TotalBytes, VerifiedBytes uint64 // of the cold pages that the recovery has left
	DamagedPages              int    // of them, those that still count
	Failed                    bool   // the last VerifyColdPages could not begin
}

// VerifyStatus returns how far the cold pages are verified.
func (s *Store) VerifyStatus() VerifyStatus {
	c := &s.cold
	status := VerifyStatus{TotalBytes: c.until - c.from, VerifiedBytes: c.verified.Load() - c.from, Failed: c.failed.Load()}
	if damaged := c.damaged.Load(); damaged != nil {
		for page := range *damaged {
			if !s.isGone(page) {
				status.DamagedPages++
			}
		}
	}
	return status
}

// VerifyColdPages reads the pages on the device that the recovery has not read, lowest first, and compares them with their checksums. It
// takes verifyBytes of memory and one request at a time of the device, and so many bytes a second at most; 0 is no bound. Pages that are dropped
// meanwhile are passed over. It returns early when stop is closed, which may be nil, or when it cannot begin. It is called once at a time.
func (s *Store) VerifyColdPages(bytesPerSecond uint64, stop <-chan struct{}) error {
	c := &s.cold
	if c.verified.Load() >= c.until {
		return nil
	}
	v, err := s.newVerifier(bytesPerSecond, stop)
	if c.failed.Store(err != nil); err != nil {
		return err
	}
	defer v.close()
	for page := c.verified.Load(); page < c.until; page += s.options.PageBytes {
		if err := v.verify(page); errors.Is(err, errStopped) {
			return nil
		}
		c.verified.Store(page + s.options.PageBytes)
	}
	return nil
}

// verifyBeforeMove verifies the page that ends at an address, if that has not been done, before what it holds is written again.
func (s *Store) verifyBeforeMove(until record.Address) error {
	page, c := uint64(until)-s.options.PageBytes, &s.cold
	if page < c.from || page >= c.until {
		return nil
	}
	if page < c.verified.Load() {
		return s.damageAt(record.Address(page))
	}
	v, err := s.newVerifier(0, s.stop)
	if err != nil {
		return err
	}
	defer v.close()
	return v.verify(page)
}

// damageAt is why nothing of the page of an address may be used, or nil.
func (s *Store) damageAt(at record.Address) error {
	damaged := s.cold.damaged.Load()
	if damaged == nil {
		return nil
	}
	return (*damaged)[uint64(s.log.PageStart(at))]
}

// isGone says that a page was dropped.
func (s *Store) isGone(page uint64) bool { return page+s.options.PageBytes <= uint64(s.log.Begin()) }

// verifier reads pages for their checksums.
type verifier struct {
	store  *Store
	pace   pace
	stop   <-chan struct{}
	queue  device.Queue
	buffer []byte // mapped
}

var errStopped = errors.New("tsavorite: the work was stopped")

func (s *Store) newVerifier(rate uint64, stop <-chan struct{}) (*verifier, error) {
	queue, err := s.newQueue()
	if err != nil {
		return nil, err
	}
	buffer, err := aligned.Map(int(min(verifyBytes, s.options.PageBytes)))
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	return &verifier{store: s, pace: pace{rate: rate, next: time.Now()}, stop: stop, queue: queue, buffer: buffer}, nil
}

func (v *verifier) close() {
	_ = v.queue.Close()
	_ = aligned.Unmap(v.buffer)
}

// verify returns why a page is damaged, nil if it is sound or gone, or errStopped.
func (v *verifier) verify(page uint64) error {
	s := v.store
	if s.isGone(page) {
		return nil
	}
	if err := s.damageAt(record.Address(page)); err != nil {
		return err
	}
	problem := error(nil)
	for attempt := range verifyAttempts {
		sum, err := v.read(page)
		if errors.Is(err, errStopped) {
			return err
		}
		wanted := s.log.Sums(record.Address(page), record.Address(page+s.options.PageBytes))[0]
		if s.isGone(page) { // whatever was read counts for nothing; this look comes last
			return nil
		}
		if err == nil && sum == wanted {
			return nil
		}
		if problem = err; err == nil {
			problem = errors.New("the page of the log has a wrong checksum")
			break
		}
		if attempt < verifyAttempts-1 && !sleepUnless(verifyPause, v.stop) {
			return errStopped
		}
	}
	return v.note(page, problem)
}

// read returns the checksum of what the device has for a page.
func (v *verifier) read(page uint64) (sum uint32, err error) {
	for at := page; at < page+v.store.options.PageBytes; at += uint64(len(v.buffer)) {
		if !v.pace.await(len(v.buffer), v.stop) {
			return 0, errStopped
		}
		if err := transfer(v.queue, device.OpRead, at, v.buffer); err != nil {
			return 0, err
		}
		sum = checkpoint.AddChecksum(sum, v.buffer)
	}
	return sum, nil
}

// note makes a page one whose records nobody gets any more, and returns the error that says so.
func (v *verifier) note(page uint64, problem error) error {
	c, info := &v.store.cold, v.store.options.Device.Info()
	err := fmt.Errorf("%w: %s: %w", ErrDamaged, placeOf(info, page), problem)
	if known := c.add(page, err); known != nil {
		return known // compaction was here at the same time
	}
	if c.report != nil {
		c.report(DamagedPage{Address: page, Segment: page / info.SegmentSizeBytes, Offset: page % info.SegmentSizeBytes, Err: err})
	}
	return err
}

// add enters why a page is damaged, unless that is known: then it is returned.
func (c *coldPages) add(page uint64, err error) (known error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[uint64]error{page: err}
	if before := c.damaged.Load(); before != nil {
		if known := (*before)[page]; known != nil {
			return known
		}
		maps.Copy(all, *before)
	}
	c.damaged.Store(&all)
	return nil
}

// placeOf says where a device keeps an address: in which of its files, if it has any.
func placeOf(info device.Info, address uint64) string {
	segment, offset := address/info.SegmentSizeBytes, address%info.SegmentSizeBytes
	if info.FileName == "" {
		return fmt.Sprintf("log address %d (segment %d, offset %d)", address, segment, offset)
	}
	return fmt.Sprintf("log address %d (file %s.%d, offset %d)", address, info.FileName, segment, offset)
}
