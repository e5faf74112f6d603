package tsavorite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// RecoverOptions says how a store comes back from a checkpoint.
type RecoverOptions struct {
	// Directory is where checkpoints were put.
	Directory string
	// AcceptOlder takes the newest checkpoint that is whole when the newest of all is damaged. Otherwise that is an error:
	// an older state never passes for the newest one unasked.
	AcceptOlder bool
	// Verify reads every page on the device and checks it. Otherwise only those are checked that are read anyway, and the others are
	// left to VerifyColdPages.
	Verify bool
	// Progress is told now and then how many bytes of how many have been read; nil is nobody.
	Progress func(done, total uint64)
	// Damaged is told, once, of each page that is found damaged afterwards; nil is nobody. It must not call the store.
	Damaged func(DamagedPage)

	files checkpoint.Files // nil is the system's
}

// LatestCheckpoint describes the newest checkpoint in a directory: ErrNoCheckpoint if there is none, ErrDamaged if it
// cannot be read.
func LatestCheckpoint(directory string) (CheckpointInfo, error) {
	files := checkpoint.System{}
	published, _, err := checkpoint.List(files, directory)
	if err != nil {
		return CheckpointInfo{}, fmt.Errorf("tsavorite: %w", err)
	}
	if len(published) == 0 {
		return CheckpointInfo{}, ErrNoCheckpoint
	}
	m, err := checkpoint.Load(files, directory, published[0])
	if err != nil {
		return CheckpointInfo{}, damaged(err)
	}
	return infoOf(m), nil
}

// Checkpoints describes the checkpoints in a directory, newest first. One that cannot be read is an error.
func Checkpoints(directory string) ([]CheckpointInfo, error) {
	files := checkpoint.System{}
	published, _, err := checkpoint.List(files, directory)
	if err != nil {
		return nil, fmt.Errorf("tsavorite: %w", err)
	}
	all := make([]CheckpointInfo, len(published))
	for i, n := range published {
		m, err := checkpoint.Load(files, directory, n)
		if err != nil {
			return nil, damaged(err)
		}
		all[i] = infoOf(m)
	}
	return all, nil
}

// UnfinishedCheckpoints returns the numbers of the checkpoints in a directory that have no manifest, newest first.
func UnfinishedCheckpoints(directory string) ([]uint64, error) {
	_, unfinished, err := checkpoint.List(checkpoint.System{}, directory)
	if err != nil {
		return nil, fmt.Errorf("tsavorite: %w", err)
	}
	return unfinished, nil
}

// damaged makes damage of a file ErrDamaged.
func damaged(err error) error {
	if errors.Is(err, checkpoint.ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("tsavorite: %w", err)
}

// ErrRecoveryStopped says that Recovery.Load was told to stop; tested with errors.Is.
var ErrRecoveryStopped = errors.New("tsavorite: the recovery was stopped")

// Recover returns the store that a checkpoint holds: all of it, or an error. ErrNoCheckpoint says that there is none,
// ErrDamaged that there is one and that it is not what was written. o.Device was opened with the content it had. The index
// has the size it had; o.IndexBytes counts for empty stores. o.PageBytes is the checkpoint's, or 0 to take that.
func Recover(o Options, r RecoverOptions) (*Store, CheckpointInfo, error) {
	published, err := r.published()
	if err != nil {
		return nil, CheckpointInfo{}, err
	}
	var failed error
	for _, n := range published {
		recovery, err := beginRecovery(o, r, n, published)
		if err == nil {
			if err = recovery.Load(nil); err == nil {
				return recovery.store, recovery.Info(), nil
			}
			err = errors.Join(err, recovery.store.Close())
		}
		failed = errors.Join(failed, err)
		if !r.AcceptOlder || !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return nil, CheckpointInfo{}, failed
}

// published returns the numbers of the checkpoints, newest first, at least one.
func (r *RecoverOptions) published() ([]uint64, error) {
	if r.files == nil {
		r.files = checkpoint.System{}
	}
	published, _, err := checkpoint.List(r.files, r.Directory)
	if err != nil {
		return nil, fmt.Errorf("tsavorite: %w", err)
	}
	if len(published) == 0 {
		return nil, ErrNoCheckpoint
	}
	return published, nil
}

// Recovery is a store on its way back from a checkpoint.
type Recovery struct {
	options   RecoverOptions
	published []uint64 // the checkpoints that there are
	manifest  *checkpoint.Manifest
	shape     index.Shape
	store     *Store
	sums      []uint32     // of the pages on the device
	head      uint64       // the first page in memory
	from      uint64       // the first page that is read whole
	buffer    []byte       // mapped; a page that does not stay in memory
	queue     device.Queue // nil without a device
	stop      <-chan struct{}

	device device.Info

	done, total uint64 // bytes
}

// BeginRecovery is Recover in two steps, for those who have something to say meanwhile. It finds the newest checkpoint, which is the one
// that counts whatever AcceptOlder says, and makes the store, which holds nothing until Load has returned: sessions may be opened,
// memory and bounds set and Info asked, and no more. The caller closes the store, also after a Load that failed.
func BeginRecovery(o Options, r RecoverOptions) (*Recovery, error) {
	published, err := r.published()
	if err != nil {
		return nil, err
	}
	return beginRecovery(o, r, published[0], published)
}

// beginRecovery makes the store of one checkpoint.
func beginRecovery(o Options, options RecoverOptions, n uint64, published []uint64) (*Recovery, error) {
	m, err := checkpoint.Load(options.files, options.Directory, n)
	if err != nil {
		return nil, damaged(err)
	}
	if o.PageBytes == 0 {
		o.PageBytes = m.PageBytes
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.PageBytes != m.PageBytes {
		return nil, fmt.Errorf("tsavorite: PageBytes is %d; checkpoint %d has pages of %d bytes, and can only be opened with these", o.PageBytes, n, m.PageBytes)
	}
	if !m.Snapshot && o.Device == nil {
		return nil, fmt.Errorf("tsavorite: the records of checkpoint %d are on a device, and the store is to have none", n)
	}
	r := &Recovery{
		options: options, published: published, manifest: m,
		shape: index.Shape{BucketBits: m.BucketBits, BaseBits: m.BaseBits, OverflowBuckets: m.OverflowBuckets},
	}
	if err := r.open(o); err != nil {
		return nil, damaged(err)
	}
	r.total = m.Bytes
	if r.from = r.firstPage(); !m.Snapshot {
		if !options.Verify {
			r.from = max(r.firstPage(), min(r.head, m.Scan&^(m.PageBytes-1))) // compaction may have dropped more than what came before Scan
		}
		r.total += m.Tail - r.from
		cold := &r.store.cold
		cold.from, cold.until, cold.report = r.firstPage(), r.from, options.Damaged
		cold.verified.Store(cold.from)
	}
	return r, nil
}

// Store is the store that is to come back.
func (r *Recovery) Store() *Store { return r.store }

// Info describes the checkpoint.
func (r *Recovery) Info() CheckpointInfo { return infoOf(r.manifest) }

// TotalBytes is how many bytes Load will read.
func (r *Recovery) TotalBytes() uint64 { return r.total }

// Load brings everything back and starts the store, or says why not: ErrDamaged, or ErrRecoveryStopped once stop is closed, which may be
// nil. It is called once.
func (r *Recovery) Load(stop <-chan struct{}) error {
	r.stop = stop
	if err := r.readIndex(); err != nil {
		return damaged(err)
	}
	if err := r.load(); err != nil {
		return damaged(err)
	}
	m, s := r.manifest, r.store
	s.state.Store((m.Version + 1) << 1)
	s.mu.Lock()
	maps.Copy(s.dropped, m.Dropped)
	s.mu.Unlock()
	s.log.HoldDevice(min(m.Begin, lowestBegin(r.options.files, r.options.Directory, r.published)))
	s.log.Start()
	s.start()
	return nil
}

// advance tells of bytes that were read, and says whether to go on.
func (r *Recovery) advance(bytes uint64) error {
	r.done += bytes
	if r.options.Progress != nil {
		r.options.Progress(r.done, r.total)
	}
	select {
	case <-r.stop:
		return ErrRecoveryStopped
	default:
		return nil
	}
}

func (r *Recovery) reader(kind checkpoint.FileKind) (*checkpoint.Reader, error) {
	return checkpoint.NewReader(r.options.files, checkpoint.FilePath(r.options.Directory, r.manifest.Number, kind), r.manifest.ID, kind)
}

// readIndex reads the copy of the index.
func (r *Recovery) readIndex() error {
	f, err := r.reader(checkpoint.Index)
	if err != nil {
		return err
	}
	err = r.store.index.Restore(r.shape, func(b []byte) error {
		if err := r.advance(uint64(len(b))); err != nil {
			return err
		}
		return f.Read(b)
	}, record.Address(r.manifest.Tail))
	if err != nil {
		f.Close()
		return err
	}
	return f.Finish()
}

// firstPage is the start of begin's page.
func (r *Recovery) firstPage() uint64 { return r.manifest.Begin &^ (r.manifest.PageBytes - 1) }

// open makes the store, with an empty memory. From head on pages stay in memory: as many of the newest as fit, with two
// pages of room for new records where older pages can give way.
func (r *Recovery) open(o Options) error {
	m := r.manifest
	end := (m.Tail + m.PageBytes - 1) &^ (m.PageBytes - 1)
	tail := m.Tail
	room := o.MemoryBytes
	if o.Device != nil {
		tail, room = end, o.MemoryBytes-2*m.PageBytes
	} else if o.EvictOldest {
		room = o.MemoryBytes - m.PageBytes
	}
	r.head = r.firstPage()
	if end-r.head > room {
		if o.Device == nil && !o.EvictOldest {
			return fmt.Errorf("checkpoint %d holds %d bytes of log; MemoryBytes is %d, and there is no device for the rest", m.Number, end-r.head, o.MemoryBytes)
		}
		r.head = end - room
	}
	begin := m.Begin
	if o.Device == nil {
		begin = max(begin, r.head)
	} else if !m.Snapshot {
		if err := r.readSums(int((end - r.firstPage()) / m.PageBytes)); err != nil {
			return err
		}
	} else {
		r.sums = make([]uint32, (end-r.firstPage())/m.PageBytes)
	}
	restore := &hlog.Restore{
		Begin: record.Address(begin), Tail: record.Address(tail), Head: record.Address(r.head), Sums: r.sums,
		DeviceHold: m.Begin, Evicted: begin > m.Begin,
	}
	x, err := index.NewOfShape(r.shape)
	if err != nil {
		return err
	}
	r.store, err = newStore(o, x, restore)
	return err
}

func (r *Recovery) readSums(pages int) error {
	f, err := r.reader(checkpoint.Sums)
	if err != nil {
		return err
	}
	b := make([]byte, 4*pages)
	if err := f.Read(b); err != nil {
		f.Close()
		return err
	}
	r.sums = make([]uint32, pages)
	for i := range r.sums {
		r.sums[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return f.Finish()
}

// load reads the pages that are to be in memory, to be looked through or to be verified, and completes the index.
func (r *Recovery) load() error {
	m, s := r.manifest, r.store
	var err error
	if r.buffer, err = aligned.Map(int(m.PageBytes)); err != nil {
		return err
	}
	defer func() { _ = aligned.Unmap(r.buffer) }()
	if s.options.Device != nil {
		r.device = s.options.Device.Info()
		if r.queue, err = s.newQueue(); err != nil {
			return err
		}
		defer func() { _ = r.queue.Close() }()
	}
	if m.Snapshot {
		return r.loadSnapshot()
	}
	if err := r.probe(r.firstPage(), r.from); err != nil {
		return err
	}
	for page := r.from; page < m.Tail; page += m.PageBytes {
		b := r.place(page)
		if err := r.transfer(device.OpRead, page, b); err != nil {
			return err
		}
		if err := r.verifyPage(page, b); err != nil {
			return err
		}
		if err := r.look(page, b); err != nil {
			return err
		}
	}
	return nil
}

// verifyPage compares a page of the device with its checksum.
func (r *Recovery) verifyPage(page uint64, b []byte) error {
	if checkpoint.Checksum(b) != r.sums[(page-r.firstPage())/r.manifest.PageBytes] {
		return fmt.Errorf("%w: %s: the page of the log has a wrong checksum", checkpoint.ErrDamaged, r.where(page))
	}
	return nil
}

// where says where the device keeps an address.
func (r *Recovery) where(address uint64) string { return placeOf(r.device, address) }

// place is where a page's bytes go: into memory if it stays there. All of it is zero.
func (r *Recovery) place(page uint64) []byte {
	if page >= r.head {
		return r.store.log.Bytes(record.Address(page), record.Address(page+r.manifest.PageBytes))
	}
	clear(r.buffer)
	return r.buffer
}

// loadSnapshot reads the checkpoint's own pages. With a device they go there too.
func (r *Recovery) loadSnapshot() error {
	m, s := r.manifest, r.store
	f, err := r.reader(checkpoint.Pages)
	if err != nil {
		return err
	}
	defer f.Close()
	for page := r.firstPage(); page < m.Tail; page += m.PageBytes {
		whole := r.place(page)
		b := whole[:min(m.PageBytes, m.Tail-page)]
		if err := f.Read(b); err != nil {
			return err
		}
		if err := r.look(page, b); err != nil {
			return err
		}
		if s.options.Device != nil {
			if err := r.transfer(device.OpWrite, page, whole); err != nil {
				return err
			}
			s.log.SetSum(record.Address(page), checkpoint.Checksum(whole))
		}
	}
	return f.Finish()
}

// look enters the records of a page that the copy of the index may lack.
func (r *Recovery) look(page uint64, b []byte) error {
	if err := r.advance(uint64(len(b))); err != nil {
		return err
	}
	m := r.manifest
	at := max(page, m.Scan, uint64(hlog.FirstAddress))
	for at < page+uint64(len(b)) {
		rest := b[at-page:]
		if len(rest) < record.HeaderBytes || !record.InBuffer(rest).IsValid() {
			return nil
		}
		size, ok := record.CheckBuffer(rest, len(rest))
		if !ok {
			return fmt.Errorf("%w: the log has no record at address %d", checkpoint.ErrDamaged, at)
		}
		found := record.InBuffer(rest)
		isNext := at >= m.Cut && found.IsOdd() != (m.Version&1 != 0)
		if !found.IsVoid() && !isNext && at >= m.Begin {
			hash := hashOf(Key{found.Namespace(), found.Key()})
			if err := r.store.index.Insert(hash, record.Address(at), record.Address(m.Begin)); err != nil {
				return err
			}
		}
		at += uint64(size)
	}
	return nil
}

// probe looks whether the device has the ends of each segment of [from, until): a missing or short file is seen at once,
// without reading what is cold.
func (r *Recovery) probe(from, until uint64) error {
	info := r.store.options.Device.Info()
	segment, bytes := info.SegmentSizeBytes, min(r.manifest.PageBytes, max(MinPageBytes, uint64(info.SectorSizeBytes)))
	for at := from; at < until; at = min(until, at&^(segment-1)+segment) {
		last := min(until, at&^(segment-1)+segment) - bytes
		for _, address := range []uint64{at, last} {
			if err := r.transfer(device.OpRead, address, r.buffer[:bytes]); err != nil {
				return err
			}
		}
	}
	return nil
}

// transfer reads or writes bytes of the device.
func (r *Recovery) transfer(op device.Op, address uint64, b []byte) error {
	switch err := transfer(r.queue, op, address, b); {
	case errors.Is(err, device.ErrTruncated):
		return fmt.Errorf("%w: the device lacks %s: %w", checkpoint.ErrDamaged, r.where(address), err)
	case errors.Is(err, errShort):
		return fmt.Errorf("%w: %s: %w", checkpoint.ErrDamaged, r.where(address), err)
	case err != nil:
		return fmt.Errorf("%s: %w", r.where(address), err)
	}
	return nil
}

var errShort = errors.New("the device ends too early")

// transfer carries out one request and waits for it.
func transfer(queue device.Queue, op device.Op, address uint64, b []byte) error {
	request := &device.Request{Op: op, Address: address, Buffer: b}
	done := make([]*device.Request, 1)
	queue.Submit([]*device.Request{request})
	for queue.Poll(done, true) == 0 {
	}
	if request.Err == nil && request.Transferred != len(b) {
		return fmt.Errorf("%w: it has %d of %d bytes", errShort, request.Transferred, len(b))
	}
	return request.Err
}
