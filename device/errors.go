package device

import (
	"errors"
	"fmt"
	"unsafe"
)

// Sentinel errors of this layer; tested with errors.Is.
var (
	ErrUnaligned   = errors.New("device: address, length or memory is not a multiple of the sector size")
	ErrTruncated   = errors.New("device: address lies below the truncated part")
	ErrClosed      = errors.New("device: closed")
	ErrUnsupported = errors.New("device: not available on this platform")
)

// Errorf wraps the cause of a request's failure with the device's kind, the operation and the
// address. Implementations use it for every Request.Err.
func Errorf(kind string, r *Request, cause error) error {
	return fmt.Errorf("cannot %s %d bytes at address %d of the %s device: %w", r.Op, len(r.Buffer), r.Address, kind, cause)
}

// CheckAlignment returns ErrUnaligned, with the offending value, unless address, length and memory
// of r are multiples of sectorSizeBytes, a power of two (D5).
func CheckAlignment(r *Request, sectorSizeBytes int) error {
	mask := uint64(sectorSizeBytes - 1)
	memory := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.Buffer))))
	if (r.Address|uint64(len(r.Buffer))|memory)&mask == 0 {
		return nil
	}
	return fmt.Errorf("%w: address %d, length %d, memory at %#x, sector size %d", ErrUnaligned, r.Address, len(r.Buffer), memory, sectorSizeBytes)
}
