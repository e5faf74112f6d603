package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	headerBytes      = 32
	chunkHeaderBytes = 8
	chunkBytes       = 1 << 20
)

var (
	magic      = [8]byte{'P', 'Y', 'R', 'O', 'P', 'E', 'C', 'K'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Checksum is the CRC-32C of bytes.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// AddChecksum is the checksum of bytes that have the checksum sum and others that follow them.
func AddChecksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// chunkSum is the checksum of a chunk: it covers what file it is in, its number and its length too.
func chunkSum(id uint64, kind FileKind, number uint64, payload []byte) uint32 {
	var prefix [24]byte
	binary.LittleEndian.PutUint64(prefix[0:], id)
	binary.LittleEndian.PutUint64(prefix[8:], number)
	binary.LittleEndian.PutUint32(prefix[16:], uint32(kind))
	binary.LittleEndian.PutUint32(prefix[20:], uint32(len(payload)))
	return crc32.Update(Checksum(prefix[:]), castagnoli, payload)
}

// header is what a file of chunks begins with.
func header(id uint64, kind FileKind) []byte {
	h := make([]byte, headerBytes)
	copy(h, magic[:])
	binary.LittleEndian.PutUint32(h[8:], formatVersion)
	binary.LittleEndian.PutUint32(h[12:], uint32(kind))
	binary.LittleEndian.PutUint64(h[16:], id)
	binary.LittleEndian.PutUint32(h[28:], Checksum(h[:28]))
	return h
}

// Writer writes a file of chunks.
type Writer struct {
	file   File
	path   string
	id     uint64
	kind   FileKind
	buffer []byte // chunk header, then what is gathered of the payload
	number uint64
	bytes  uint64 // written so far
}

// NewWriter makes the file.
func NewWriter(files Files, path string, id uint64, kind FileKind) (*Writer, error) {
	file, err := files.Create(path)
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", path, err)
	}
	w := &Writer{file: file, path: path, id: id, kind: kind, buffer: make([]byte, chunkHeaderBytes, chunkHeaderBytes+chunkBytes)}
	if err := w.put(header(id, kind)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

func (w *Writer) put(b []byte) error {
	if _, err := w.file.Write(b); err != nil {
		return fmt.Errorf("cannot write %s: %w", w.path, err)
	}
	w.bytes += uint64(len(b))
	return nil
}

// Write adds bytes.
func (w *Writer) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), cap(w.buffer)-len(w.buffer))
		w.buffer = append(w.buffer, rest[:n]...)
		rest = rest[n:]
		if len(w.buffer) == cap(w.buffer) {
			if err := w.endChunk(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

func (w *Writer) endChunk() error {
	payload := w.buffer[chunkHeaderBytes:]
	binary.LittleEndian.PutUint32(w.buffer, uint32(len(payload)))
	binary.LittleEndian.PutUint32(w.buffer[4:], chunkSum(w.id, w.kind, w.number, payload))
	err := w.put(w.buffer)
	w.buffer = w.buffer[:chunkHeaderBytes]
	w.number++
	return err
}

// Finish ends the file with an empty chunk, makes it durable and closes it. It returns the file's size.
func (w *Writer) Finish() (uint64, error) {
	var err error
	if len(w.buffer) > chunkHeaderBytes {
		err = w.endChunk()
	}
	if err == nil {
		err = w.endChunk()
	}
	if err == nil {
		if err = w.file.Sync(); err != nil {
			err = fmt.Errorf("cannot sync %s: %w", w.path, err)
		}
	}
	return w.bytes, errors.Join(err, w.file.Close())
}

// Abandon closes a file that is not needed.
func (w *Writer) Abandon() { _ = w.file.Close() }

// Reader reads a file of chunks and checks every byte of it.
type Reader struct {
	file   io.ReadCloser
	path   string
	id     uint64
	kind   FileKind
	buffer []byte
	chunk  []byte // what is left of the present one, in buffer
	number uint64
	offset uint64 // of the present chunk's header
	next   uint64 // of the next one's
	ended  bool
}

// NewReader opens the file, which must be this one.
func NewReader(files Files, path string, id uint64, kind FileKind) (*Reader, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot open %s: %w", ErrDamaged, path, err)
	}
	r := &Reader{file: file, path: path, id: id, kind: kind, buffer: make([]byte, chunkBytes), next: headerBytes}
	h := make([]byte, headerBytes)
	if _, err := io.ReadFull(file, h); err != nil || string(h) != string(header(id, kind)) {
		return nil, errors.Join(r.damage("it does not begin as file %v of checkpoint %#x", kind, id), file.Close())
	}
	return r, nil
}

func (r *Reader) damage(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s at offset %d: %s", ErrDamaged, r.path, r.offset, fmt.Sprintf(format, arguments...))
}

// Read fills b; short of that it is damage.
func (r *Reader) Read(b []byte) error {
	for len(b) > 0 {
		if len(r.chunk) == 0 {
			if err := r.nextChunk(); err != nil {
				return err
			}
			if r.ended {
				return r.damage("it ends too early")
			}
		}
		n := copy(b, r.chunk)
		b, r.chunk = b[n:], r.chunk[n:]
	}
	return nil
}

func (r *Reader) nextChunk() error {
	r.offset = r.next
	if r.ended {
		return nil
	}
	var h [chunkHeaderBytes]byte
	if _, err := io.ReadFull(r.file, h[:]); err != nil {
		return r.damage("%v", err)
	}
	length := binary.LittleEndian.Uint32(h[:])
	if length > chunkBytes {
		return r.damage("a chunk of %d bytes", length)
	}
	if _, err := io.ReadFull(r.file, r.buffer[:length]); err != nil {
		return r.damage("%v", err)
	}
	r.chunk = r.buffer[:length]
	if sum := chunkSum(r.id, r.kind, r.number, r.chunk); sum != binary.LittleEndian.Uint32(h[4:]) {
		return r.damage("the checksum of a chunk of %d bytes is wrong", length)
	}
	r.number++
	r.next += chunkHeaderBytes + uint64(length)
	r.ended = length == 0
	return nil
}

// Finish checks that all has been read and that nothing follows, and closes the file.
func (r *Reader) Finish() error {
	defer r.Close()
	if len(r.chunk) > 0 {
		return r.damage("it holds more than it should")
	}
	if err := r.nextChunk(); err != nil {
		return err
	}
	if !r.ended {
		return r.damage("it holds more than it should")
	}
	if n, err := r.file.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return r.damage("something follows its end")
	}
	return nil
}

// Close closes the file.
func (r *Reader) Close() { _ = r.file.Close() }

// Verify reads a file from end to end.
func Verify(files Files, path string, id uint64, kind FileKind) error {
	r, err := NewReader(files, path, id, kind)
	if err != nil {
		return err
	}
	for !r.ended {
		if err := r.nextChunk(); err != nil {
			r.Close()
			return err
		}
	}
	r.chunk = nil
	return r.Finish()
}
