package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/tsavorite"
)

const (
	autoMemory       = "auto"
	keyBytes         = 8
	recordHeader     = 24 // bytes before the key of a record
	bucketBytes      = 64
	mutablePercent   = 90
	spareLogPages    = 3  // the log keeps pages ahead of the tail, beside those that hold data
	memoryPercentCap = 70 // of what the system has available, for log and index
)

// sizes are what the store is opened with.
type sizes struct {
	indexBytes  uint64
	memoryBytes uint64
}

// recordBytes is how long a record is in the log.
func recordBytes(valueBytes int) int {
	return recordHeader + keyBytes + (valueBytes+7)&^7
}

// defaultPageBytes is the size of a page when none is given and --log-memory holds pagesWanted of it.
const (
	defaultPageBytes = 16 << 20
	pagesWanted      = 4
)

// fitPage chooses the size of a page when none is given.
func (o *options) fitPage() {
	if o.PageSize != 0 {
		return
	}
	o.PageSize = defaultPageBytes
	if memory, err := config.ParseSize(o.LogMemory); err == nil { // not auto
		for o.PageSize > tsavorite.MinPageBytes && o.PageSize*pagesWanted > memory {
			o.PageSize /= 2
		}
	}
}

// computeSizes follows the options; availableBytes is the system's free memory, 0 for unknown.
func (o *options) computeSizes(availableBytes uint64) (sizes, error) {
	s := sizes{indexBytes: uint64(o.IndexSize)}
	if s.indexBytes == 0 {
		s.indexBytes = powerBelow(uint64(float64(o.Keys)/o.HashPack) * bucketBytes)
		s.indexBytes = min(max(s.indexBytes, tsavorite.MinIndexBytes), tsavorite.MaxIndexBytes)
	}
	page := uint64(o.PageSize)
	if o.LogMemory != autoMemory {
		asked, err := config.ParseSize(o.LogMemory)
		if err != nil {
			return s, err
		}
		s.memoryBytes = uint64(asked)
		if least := page * tsavorite.MinPageCount; s.memoryBytes < least || s.memoryBytes%page != 0 {
			return s, fmt.Errorf("--log-memory is %s; it must be a multiple of --page-size (%v) and at least %v", o.LogMemory, o.PageSize, config.Size(least))
		}
		return s, nil
	}
	s.memoryBytes = o.autoMemoryBytes()
	if limit := availableBytes / 100 * memoryPercentCap; limit > 0 {
		for s.memoryBytes+s.indexBytes > limit && s.memoryBytes/2 >= page*tsavorite.MinPageCount {
			s.memoryBytes /= 2
		}
	}
	return s, nil
}

// autoMemoryBytes is the power of two that keeps all records within the mutable part of the log.
func (o *options) autoMemoryBytes() uint64 {
	page := uint64(o.PageSize)
	perPage := page / uint64(recordBytes(o.ValueSize)) // records do not cross pages
	if sizes := o.sizes(); sizes.Most() > o.ValueSize {
		perPage = max(1, (page-uint64(recordBytes(sizes.Most())))/uint64(recordBytes(int(sizes.Mean())+8)))
	}
	data := (o.Keys + perPage - 1) / perPage * page
	need := max(data/mutablePercent*100, data+spareLogPages*page)
	return 1 << bits.Len64(need-1)
}

// powerBelow is the largest power of two that is not above n; 0 for 0.
func powerBelow(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return 1 << (bits.Len64(n) - 1)
}

// availableMemory is what the system could give to a new process, within the limits of its
// cgroups; 0 where it does not say.
func availableMemory() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return min(parseMemAvailable(text), config.MachineMemory())
}

// parseMemAvailable finds the line "MemAvailable:   24305940 kB".
func parseMemAvailable(text []byte) uint64 {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "MemAvailable:" {
			n, err := strconv.ParseUint(fields[1], 10, 50)
			if err != nil {
				return 0
			}
			return n * 1024
		}
	}
	return 0
}
