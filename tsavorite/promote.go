package tsavorite

// promote copies the record that an ended operation read from the device to the tail, if it is still
// its key's newest: no record of the key has come to memory, and the chain on the device begins where
// the search began. It gives up rather than wait for room: the record is on the device anyway.
func (s *Session) promote(op *operation) {
	var w writer
	if w.start(s, op.hash, op.key); w.bucket == nil {
		return
	}
	defer w.end()
	if !w.record.IsNone() || w.disk != op.chain {
		return
	}
	from := op.record
	m := live(from).Metadata
	target, at, _ := w.reserve(w.layout(from.ValueCapacity(), m), from.ValueLength(), m)
	if at == 0 {
		return
	}
	copy(target.Value(), from.Value())
	w.publish(target, at, false)
	s.counters.copiedReads++
}
