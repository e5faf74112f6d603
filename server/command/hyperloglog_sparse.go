package command

// sketchEditor holds a copy of a HyperLogLog that is being changed, dense or sparse.
type sketchEditor struct {
	bytes sketch
	near  runPlace // where find may begin for registers from near.first on; runs in front of it are unchanged
}

// runPlace is where a run of a sparse HyperLogLog begins.
type runPlace struct {
	at       int // in the bytes
	previous int // the run before it; the same place for the first run
	first    int // its first register
}

var firstRun = runPlace{at: sketchHeaderBytes, previous: sketchHeaderBytes}

// sparseMaxBytes is the length from which a sparse HyperLogLog becomes dense, Redis's
// hll-sparse-max-bytes.
const sparseMaxBytes = 3000

// create makes an empty one.
func (e *sketchEditor) create() {
	e.bytes = append(e.bytes[:0], sketchMagic...)
	e.bytes = append(e.bytes, sparseEncoding, 0, 0, 0)
	e.bytes = append(e.bytes, make([]byte, sketchHeaderBytes-sketchEstimateAt)...)
	e.bytes = appendZeros(e.bytes, registerCount)
	e.near = firstRun
}

// load copies one.
func (e *sketchEditor) load(value []byte) {
	e.bytes = append(e.bytes[:0], value...)
	e.near = firstRun
}

// release gives the copy back if it is too large to be kept.
func (e *sketchEditor) release() {
	if cap(e.bytes) > keepBufferBytes {
		e.bytes = nil
	}
}

// raise gives a register a value unless it has a greater one. changed tells whether it did, so that
// the estimate is out of date; ok is false, and nothing changed, when the runs are found to be wrong.
func (e *sketchEditor) raise(index int, value byte) (changed, ok bool) {
	if e.bytes.isDense() {
		return e.bytes.raise(index, value), true
	}
	if value > sparseValueMax {
		return e.raiseDense(index, value)
	}
	place := e.find(index)
	if place.at >= len(e.bytes) {
		return false, false
	}
	r := e.bytes.runAt(place.at)
	if r.value >= value {
		return false, true
	}
	if !e.replace(place.at, r, split(r, index-place.first, value)) {
		return e.raiseDense(index, value)
	}
	e.join(place.previous)
	if place.at == e.near.at {
		e.near = firstRun // it may have been joined to the run before it
	}
	return true, true
}

// raiseDense makes the sketch dense and raises the register there.
func (e *sketchEditor) raiseDense(index int, value byte) (changed, ok bool) {
	if !e.promote() {
		return false, false
	}
	return e.bytes.raise(index, value), true
}

// promote makes the sketch dense, and reports whether its runs are right; if not it stays as it is.
func (e *sketchEditor) promote() bool {
	if e.bytes.isDense() {
		return true
	}
	var registers sketchRegisters
	if !e.bytes.mergeInto(&registers) {
		return false
	}
	e.bytes = append(e.bytes[:sketchHeaderBytes], make([]byte, denseSketchBytes-sketchHeaderBytes)...)
	e.bytes[sketchEncodingAt] = denseEncoding
	registers.pack(e.bytes[sketchHeaderBytes:])
	return true
}

// find returns the run with a register; it is at the end, or behind it, if there is none. The run
// before it, which a change may be joined to, is where the next search begins, so that registers
// in rising order, as PFMERGE has them, do not begin at the first run each time.
func (e *sketchEditor) find(index int) runPlace {
	if index < e.near.first {
		e.near = firstRun
	}
	place := e.near
	for place.at < len(e.bytes) {
		length, size := int(shortRunLengths[e.bytes[place.at]]), 1
		if length == 0 {
			far := e.bytes.runAt(place.at)
			length, size = far.length, far.size
		}
		if index < place.first+length {
			break
		}
		e.near = place
		place = runPlace{at: place.at + size, previous: place.at, first: place.first + length}
	}
	return place
}

// shortRunLengths are the lengths of the runs that one byte encodes, by that byte; 0 for far zeros.
// The search spends its time on them, and the kinds come in no order a processor could foretell.
var shortRunLengths = func() (lengths [256]uint8) {
	for b := range lengths {
		if r := (sketch{byte(b)}).runAt(0); r.size == 1 {
			lengths[b] = uint8(r.length)
		}
	}
	return lengths
}()

// pieces are the runs that take the place of one: up to five bytes.
type pieces struct {
	bytes [5]byte
	size  int
}

func (p *pieces) add(bytes ...byte) { p.size += copy(p.bytes[p.size:], bytes) }

// addRun adds a run of a length that one run of its kind can have, or none if that is 0.
func (p *pieces) addRun(value byte, length int) {
	switch {
	case length == 0:
	case value != 0:
		p.add(valueRunMark | (value-1)<<2 | byte(length-1))
	case length <= zeroRunMax:
		p.add(byte(length - 1))
	default:
		p.add(farZeroRunMark|byte((length-1)>>8), byte(length-1))
	}
}

// split cuts a run into what lies before a register in it, the register with its new value, and
// what lies behind it.
func split(r run, position int, value byte) (p pieces) {
	p.addRun(r.value, position)
	p.addRun(value, 1)
	p.addRun(r.value, r.length-position-1)
	return p
}

// replace puts the pieces in the place of a run, unless that makes the sketch longer than sparse
// ones may be.
func (e *sketchEditor) replace(at int, old run, p pieces) bool {
	growth := p.size - old.size
	if growth > 0 && len(e.bytes)+growth > sparseMaxBytes {
		return false
	}
	next, end := at+old.size, len(e.bytes)
	if growth > 0 {
		e.bytes = append(e.bytes, p.bytes[:growth]...) // any bytes: they are overwritten
	}
	if next < end { // a far zero without its second byte reaches beyond the end
		copy(e.bytes[next+growth:], e.bytes[next:end])
	}
	e.bytes = e.bytes[:end+growth]
	copy(e.bytes[at:], p.bytes[:p.size])
	return true
}

// joinedRuns is how many runs are looked at for neighbours to join, and no more.
const joinedRuns = 5

// join makes one run of neighbours that have the same value, if one can have them all, beginning
// at the run at a place.
func (e *sketchEditor) join(at int) {
	for range joinedRuns {
		if at >= len(e.bytes) {
			return
		}
		r := e.bytes.runAt(at)
		if r.value != 0 && at+1 < len(e.bytes) {
			next := e.bytes.runAt(at + 1)
			if next.value == r.value && r.length+next.length <= valueRunMax {
				var joined pieces
				joined.addRun(r.value, r.length+next.length)
				copy(e.bytes[at:], joined.bytes[:joined.size])
				e.bytes = append(e.bytes[:at+1], e.bytes[at+2:]...)
				continue
			}
		}
		at += r.size
	}
}

// appendZeros appends runs of registers that are 0.
func appendZeros(dst sketch, count int) sketch {
	for count > 0 {
		length := min(count, farZeroRunMax)
		dst = append(dst, farZeroRunMark|byte((length-1)>>8), byte(length-1))
		count -= length
	}
	return dst
}
