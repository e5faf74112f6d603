package log

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pyropedb/pyrope/device"
)

// readBytes is how much one request reads, so that a log is read at the device's speed.
const readBytes = 2 << 20

// reader reads a device from one address to higher ones, through a window that moves along.
type reader struct {
	geometry
	queue   device.Queue
	request device.Request
	batch   [1]*device.Request
	done    [1]*device.Request

	start  Address
	window []byte // bytes of the device from start on
	buffer []byte // the window's memory
}

func newReader(d device.Device) (*reader, error) {
	queue, err := d.NewQueue()
	if err != nil {
		return nil, fmt.Errorf("cannot read the log: %w", err)
	}
	return &reader{geometry: geometry{d.Info().SegmentSizeBytes}, queue: queue}, nil
}

func (r *reader) close() error { return r.queue.Close() }

// forget drops the window: what it holds may have changed.
func (r *reader) forget() { r.window = r.window[:0] }

// at returns up to n bytes at an address, less where the segment or what was written of it ends, or at limit. They
// stay valid until the next call.
func (r *reader) at(a Address, n int, limit Address) ([]byte, error) {
	n = int(min(uint64(n), r.room(a), uint64(max(limit, a)-a)))
	end := r.start + Address(len(r.window))
	if a >= r.start && a+Address(n) <= end {
		return r.window[a-r.start : a-r.start+Address(n)], nil
	}
	keep := 0
	if a >= r.start && a < end {
		keep = copy(r.buffer, r.window[a-r.start:])
	}
	want := int(min(uint64(max(n, readBytes)), r.room(a), uint64(limit-a)))
	if want > len(r.buffer) {
		grown := make([]byte, want)
		copy(grown, r.buffer[:keep])
		r.buffer = grown
	}
	moved, err := r.read(a+Address(keep), r.buffer[keep:want])
	if err != nil {
		r.forget()
		return nil, err
	}
	r.start, r.window = a, r.buffer[:keep+moved]
	return r.window[:min(n, len(r.window))], nil
}

// read fills a buffer from the device, as far as that was written.
func (r *reader) read(at Address, buffer []byte) (int, error) {
	r.request = device.Request{Op: device.OpRead, Address: uint64(at), Buffer: buffer}
	r.batch[0] = &r.request
	r.queue.SubmitAndPoll(r.batch[:], r.done[:], true)
	if err := r.request.Err; err != nil {
		if errors.Is(err, device.ErrTruncated) {
			return 0, ErrTruncated
		}
		return 0, fmt.Errorf("cannot read the log: %w", err)
	}
	return r.request.Transferred, nil
}

// block returns the block at an address, or says why there is none. The payload is valid until the next call.
func (r *reader) block(a, limit Address) (h header, payload []byte, problem string, err error) {
	bytes, err := r.at(a, headerBytes, limit)
	if err != nil {
		return h, nil, "", err
	}
	if h, problem = parse(bytes, a, r.room(a)); problem != "" {
		return h, nil, problem, nil
	}
	if bytes, err = r.at(a, headerBytes+int(h.length), limit); err != nil {
		return h, nil, "", err
	}
	if problem = h.verify(bytes); problem != "" {
		return h, nil, problem, nil
	}
	return h, bytes[headerBytes : headerBytes+int(h.length)], "", nil
}

// assembler cuts the payloads of blocks, which come in order, into entries.
type assembler struct {
	generation uint32  // of the last block
	begun      bool    // a place was seen where an entry begins: before that there may be the rest of one
	partial    []byte  // of an entry that goes on in the next block
	spare      []byte  // the entry before that which was in parts
	missing    int     // how many bytes of partial are to come; 0 for no such entry
	at         Address // where partial begins
}

// feed cuts one payload and hands each entry that ends in it to visit. It returns what is wrong with the payload.
func (s *assembler) feed(h header, payload []byte, visit func(Address, []byte) error) (problem string, err error) {
	if s.begun && h.generation != s.generation {
		s.missing = 0 // an earlier life of the log ended within the entry
	}
	position := int(h.first)
	switch {
	case s.missing > 0:
		if position = min(s.missing, len(payload)); position != int(h.first) {
			return "an entry does not go on where it should", nil
		}
		s.partial = append(s.partial, payload[:position]...)
		if s.missing -= position; s.missing == 0 {
			if err := visit(s.at, s.partial); err != nil {
				return "", err
			}
			s.partial, s.spare = trim(s.spare), s.partial // who visits may keep it until the next payload
		}
	case s.begun && h.generation == s.generation && position != 0 && len(payload) > 0:
		return "an entry goes on that has no beginning", nil
	}
	s.begun, s.generation = s.begun || h.first < h.length || h.length == 0, h.generation
	for position < len(payload) {
		if len(payload)-position < lengthBytes {
			return "the length of an entry is cut off", nil
		}
		at := h.address + headerBytes + Address(position)
		length := int(binary.LittleEndian.Uint32(payload[position:]))
		position += lengthBytes
		if length > MaxEntryBytes {
			return fmt.Sprintf("an entry of %d bytes", length), nil
		}
		if rest := len(payload) - position; length > rest {
			s.at, s.missing = at, length-rest
			s.partial = append(s.partial[:0], payload[position:]...)
			break
		}
		if err := visit(at, payload[position:position+length]); err != nil {
			return "", err
		}
		position += length
	}
	return "", nil
}

// keepPartialBytes is the longest buffer for entries in parts that is kept for the next one.
const keepPartialBytes = 8 << 20

func trim(buffer []byte) []byte {
	if cap(buffer) > keepPartialBytes {
		return nil
	}
	return buffer[:0]
}
