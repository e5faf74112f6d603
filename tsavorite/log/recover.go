package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/pyropedb/pyrope/device"
)

// Check reads a whole log without changing anything, and hands each entry to visit. A damaged log is an ErrDamaged;
// a torn tail is none, see Found.
func Check(d device.Device, visit func(at Address, entry []byte) error) (Found, error) {
	o := Options{Device: d, Replay: visit}
	if err := o.Validate(); err != nil {
		return Found{}, err
	}
	result, err := recoverLog(o.withDefaults())
	return result.Found, err
}

// recovered is what recovery knows of a log.
type recovered struct {
	Found
	generation uint32  // the highest there is, in the chain or behind it (L6)
	durable    Address // the highest that a block speaks of
	extended   Address // the end of what the last segment holds
}

// recovery reads a log from its begin to its end.
type recovery struct {
	*reader
	options Options
	result  recovered
	chain   uint32  // generation of the last block
	begin   Address // the highest that a block of the chain speaks of
	total   uint64
	entries assembler
}

// noLimit is a limit for reads that none reaches.
const noLimit = Address(math.MaxInt64)

// recoverLog finds begin and end of a log and verifies what lies between.
func recoverLog(o Options) (result recovered, err error) {
	r, err := newReader(o.Device)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	c := &recovery{reader: r, options: o}
	lowest, err := c.lowest()
	if err != nil {
		return result, err
	}
	end, err := c.extent(lowest)
	if err != nil {
		return result, err
	}
	c.total, c.result.Begin = uint64(end-lowest), lowest
	at, problem, err := c.follow(lowest)
	if err != nil {
		return c.result, err
	}
	behind, err := c.search(at)
	if err != nil {
		return c.result, err
	}
	if behind.begin > at {
		// A truncation was cut short, and left a hole below the begin that it had made durable.
		at, c.result.Begin, c.entries = behind.begin, behind.begin, assembler{}
		if at, problem, err = c.follow(at); err != nil {
			return c.result, err
		}
		if behind, err = c.search(at); err != nil {
			return c.result, err
		}
	}
	return c.conclude(lowest, at, end, problem, behind)
}

// conclude judges what was found: a log that ends at an address, or a damaged one.
func (c *recovery) conclude(lowest, at, end Address, problem string, behind remains) (recovered, error) {
	result := &c.result
	if behind.durable > at {
		return *result, c.damage(at, fmt.Sprintf("%s, but the block at %d says that what lies below %d was durable", problem, behind.witness, behind.durable))
	}
	if result.End = at; lowest > c.begin {
		return *result, c.damage(c.begin, fmt.Sprintf("the log begins here, but its first segment begins at %d", lowest))
	}
	result.Begin = max(result.Begin, c.begin)
	result.generation = max(c.chain, behind.generation)
	if behind.dirty {
		result.TornBytes, result.TornReason = uint64(behind.end-at), problem
	}
	result.Clean = !behind.dirty && result.durable+headerBytes >= at
	result.extended = at
	if c.segment(end) == c.segment(at) {
		result.extended = max(at, end)
	}
	return *result, nil
}

// lowest finds the first segment that is not truncated: the first of which a read is not refused.
func (c *recovery) lowest() (Address, error) {
	var probe [1]byte
	refused := func(segment uint64) (bool, error) {
		_, err := c.read(Address(segment*c.segmentBytes), probe[:])
		if errors.Is(err, ErrTruncated) {
			return true, nil
		}
		return false, err
	}
	low, high := uint64(0), uint64(0) // below low all are refused, high is not
	for {
		yes, err := refused(high)
		if err != nil {
			return 0, err
		}
		if !yes {
			break
		}
		low, high = high+1, 2*high+1
	}
	for low < high {
		middle := low + (high-low)/2
		yes, err := refused(middle)
		switch {
		case err != nil:
			return 0, err
		case yes:
			low = middle + 1
		default:
			high = middle
		}
	}
	return Address(low * c.segmentBytes), nil
}

// extent returns where the last of the segments ends that follow each other from an address on.
func (c *recovery) extent(at Address) (Address, error) {
	var probe [1]byte
	holds := func(a Address) (bool, error) {
		n, err := c.read(a, probe[:])
		return n == 1, err
	}
	for {
		if yes, err := holds(at + Address(c.segmentBytes)); err != nil {
			return 0, err
		} else if !yes {
			break
		}
		at += Address(c.segmentBytes)
	}
	low, high := uint64(0), c.segmentBytes // below low all is there, from high on nothing
	for low < high {
		middle := low + (high-low)/2
		yes, err := holds(at + Address(middle))
		switch {
		case err != nil:
			return 0, err
		case yes:
			low = middle + 1
		default:
			high = middle
		}
	}
	return at + Address(low), nil
}

// follow reads the chain from a block to where it ends, and says what is wrong there.
func (c *recovery) follow(at Address) (end Address, problem string, err error) {
	told := at
	for {
		at = c.place(at)
		h, payload, problem, err := c.block(at, noLimit)
		if err != nil {
			return at, "", err
		}
		if problem == "" && h.generation < c.chain {
			problem = fmt.Sprintf("the block is of generation %d after %d", h.generation, c.chain)
		}
		if problem != "" {
			return at, problem, nil
		}
		c.chain, c.begin = h.generation, max(c.begin, h.begin)
		c.result.durable = max(c.result.durable, h.durable)
		problem, err = c.entries.feed(h, payload, func(at Address, entry []byte) error {
			c.result.Entries++
			return c.options.Replay(at, entry)
		})
		if err != nil {
			return at, "", err
		}
		if problem != "" {
			return at, "", c.damage(at, problem)
		}
		at += Address(h.size())
		if at-told >= readBytes {
			told = at
			c.options.Progress(uint64(at-c.result.Begin), c.total)
		}
	}
}

// remains is what lies behind the end of a chain.
type remains struct {
	dirty      bool    // there is something that is not zero
	end        Address // behind the last such byte
	durable    Address // the highest that a whole block speaks of, which is witness
	witness    Address
	begin      Address // the same
	generation uint32  // the highest
}

// farSegments is how far behind a missing segment others are looked for.
const farSegments = 1024

// search looks behind the end of the chain for blocks that tell of a longer one.
func (c *recovery) search(from Address) (found remains, err error) {
	if err := c.searchSegment(from, &found); err != nil {
		return found, err
	}
	missing := 0
	for at := c.segment(from) + Address(c.segmentBytes); missing < farSegments; at += Address(c.segmentBytes) {
		var probe [1]byte
		n, err := c.read(at, probe[:])
		if err != nil {
			return found, err
		}
		if missing++; n == 1 {
			missing = 0
			if err := c.searchSegment(at, &found); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// searchSegment looks at every place where a block could be in the rest of one segment.
func (c *recovery) searchSegment(at Address, found *remains) error {
	end := c.segment(at) + Address(c.segmentBytes)
	for at < end {
		window, err := c.at(at, readBytes, noLimit)
		if err != nil {
			return err
		}
		if len(window) == 0 {
			return nil
		}
		if last := len(bytes.TrimRight(window, "\x00")); last > 0 {
			found.dirty, found.end = true, at+Address(last)
		}
		next, err := c.searchWindow(at, window, found)
		if err != nil {
			return err
		}
		at = next
	}
	return nil
}

// searchWindow looks through a piece of a segment, and returns where to go on. A whole block is stepped over.
func (c *recovery) searchWindow(at Address, window []byte, found *remains) (next Address, err error) {
	for i := 0; i+8 <= len(window); i += alignment {
		if binary.LittleEndian.Uint32(window[i+4:]) != magic {
			continue
		}
		here := at + Address(i)
		h, _, problem, err := c.block(here, noLimit) // moves the window
		if err != nil {
			return 0, err
		}
		if problem != "" {
			return here + alignment, nil
		}
		found.generation, found.begin = max(found.generation, h.generation), max(found.begin, h.begin)
		if h.durable > found.durable {
			found.durable, found.witness = h.durable, here
		}
		found.dirty, found.end = true, max(found.end, here+Address(h.size()))
		return here + Address(h.size()), nil
	}
	return at + Address(pad(uint64(len(window)))), nil
}
