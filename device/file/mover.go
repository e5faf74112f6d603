package file

import (
	"io"

	"github.com/pyropedb/pyrope/device"
)

// triedBytes is the longest read that a submitter carries out itself.
const triedBytes = 64 << 10

// mover moves bytes between requests and segment files, for one goroutine at a time.
type mover struct {
	device *Device
	cached cachedRead
}

// Close implements worker.Mover.
func (m *mover) Close() {}

// Try implements worker.Mover: it reads what lies in the page cache. Reads that are long, cross segments
// or come short are left to Move.
func (m *mover) Try(r *device.Request) (moved int, done bool, err error) {
	d := m.device
	offset, fit := d.files.Split(r.Address, len(r.Buffer))
	if fit < len(r.Buffer) || fit == 0 || fit > triedBytes || d.mustWait.Load() {
		return 0, false, nil
	}
	file, err := d.files.Acquire(r.Address, device.OpRead)
	if err != nil || file == nil {
		return 0, true, err
	}
	n, unknown := m.cached.read(file.Descriptor(), r.Buffer, offset)
	file.Release()
	if unknown {
		d.mustWait.Store(true)
	}
	return n, n == fit, nil
}

// Move implements worker.Mover: segment by segment, until one comes short (D3, D4).
func (m *mover) Move(r *device.Request) (moved int, err error) {
	for first := true; first || moved < len(r.Buffer); first = false {
		address := r.Address + uint64(moved)
		offset, fit := m.device.files.Split(address, len(r.Buffer)-moved)
		n, err := m.piece(r.Op, address, offset, r.Buffer[moved:moved+fit])
		moved += n
		if err != nil || n < fit {
			return moved, err
		}
	}
	return moved, nil
}

// piece carries one piece out within its segment.
func (m *mover) piece(op device.Op, address uint64, offset int64, piece []byte) (int, error) {
	file, err := m.device.files.Acquire(address, op)
	if err != nil || file == nil {
		return 0, err
	}
	defer file.Release()
	if op == device.OpRead {
		n, err := file.Handle().ReadAt(piece, offset)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
	n, err := file.Handle().WriteAt(piece, offset)
	file.MarkDirty()
	return n, err
}
