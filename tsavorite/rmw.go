package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// RMW runs u on the key. It waits for the device when it must. Found, NotFound, Created or Deleted,
// or OutOfMemory, TooLarge or StatusError.
func (s *Session) RMW(key Key, u Updater) Status {
	s.counters.writes++
	hash := hashOf(key)
	var known *operation
	for {
		status, disk := s.update(hash, key, u, known)
		if known != nil {
			s.recycle(known)
		}
		if status != Pending {
			return status
		}
		known = s.startHeld(hash, key, disk)
		s.await(known)
		if known.err != nil {
			status = s.fail(known.err)
			s.recycle(known)
			return status
		}
	}
}

// RMWAsync is RMW that may return Pending. u.Finish is called once with the final status.
func (s *Session) RMWAsync(key Key, token uint64, u AsyncUpdater) Status {
	s.counters.writes++
	hash := hashOf(key)
	status, disk := s.update(hash, key, u, nil)
	if status != Pending {
		u.Finish(token, status)
		return status
	}
	op := s.newFind(updateOperation, hash, key)
	op.token, op.updater = token, u
	s.find(op, disk)
	return Pending
}

// update makes attempts at u until one succeeds or the device must be asked: Pending, and the
// address to look at. known is the device's answer for a chain that was looked at before.
func (s *Session) update(hash uint64, key Key, u Updater, known *operation) (Status, record.Address) {
	for {
		var w writer
		w.start(s, hash, key)
		current, alive := w.record, false
		if current.IsNone() && w.disk != 0 {
			if known == nil || known.chain != w.disk {
				w.end()
				return Pending, w.disk
			}
			current = known.record
		}
		var before Record
		s.meet(current)
		if !current.IsNone() && !current.IsDead(s.now) {
			before, alive = live(current), true
		} else if !current.IsNone() && current.Kind() >= uint8(OwnerKind) {
			s.store.noteReleased(current) // expired
		}
		status, retry := w.carryOut(u, before, alive)
		if !retry {
			return status, 0
		}
	}
}

// carryOut asks u for its plan and does it. The latch is given back. retry asks for a new attempt.
func (w *writer) carryOut(u Updater, before Record, alive bool) (status Status, retry bool) {
	status = NotFound
	if alive {
		status = Found
	}
	plan := u.Plan(before, alive)
	switch plan.Action {
	case Write:
		if !alive {
			status = Created
		}
		return w.write(u, plan, before, status)
	case SetMetadata:
		if !alive {
			break
		}
		plan.Length = len(before.Value)
		if failed, retry := w.setMetadata(plan, before); retry || failed != Found {
			return failed, retry
		}
	case Remove:
		if !alive {
			break
		}
		failed, retry := w.remove()
		if retry || failed != Found {
			return failed, retry
		}
		return Deleted, false
	}
	w.end()
	return status, false
}

// setMetadata gives the key the planned metadata. The latch is given back only with retry or another status than Found.
func (w *writer) setMetadata(plan Plan, before Record) (status Status, retry bool) {
	w.needful = true
	if w.session.journal != nil {
		if failed, retry := w.reserveEntry(0); retry || failed != Found {
			return failed, retry
		}
	}
	if w.fits(plan.Length, plan.Metadata) {
		w.setInPlace(plan.Length, plan.Metadata)
	} else {
		target, at, failed, retry := w.allocate(plan.Length, record.Pad8(plan.Length), plan.Metadata)
		if retry || failed != Found {
			return failed, retry
		}
		copy(target.Value(), before.Value)
		w.publish(target, at, false)
	}
	if w.entry {
		w.journalWrite(before.Value, plan.Metadata, 0, 0, true)
	}
	return Found, false
}

// write gives the key the planned value.
func (w *writer) write(u Updater, plan Plan, before Record, status Status) (Status, bool) {
	from, until, patch := 0, 0, false
	if w.session.journal != nil {
		from, until, patch = plan.changed(len(before.Value), status == Found)
		if failed, retry := w.reserveEntry(until - from); retry || failed != Found {
			return failed, retry
		}
	}
	if w.fits(plan.Length, plan.Metadata) {
		value := w.setInPlace(plan.Length, plan.Metadata)
		u.Write(value, before)
		if w.entry {
			w.journalWrite(value, plan.Metadata, from, until, patch)
		}
		w.end()
		return status, false
	}
	capacity := record.Pad8(plan.Length)
	if plan.Preserve && len(before.Value) > 0 {
		capacity = w.withSlack(capacity)
	}
	target, at, failed, retry := w.allocate(plan.Length, capacity, plan.Metadata)
	if retry || failed != Found {
		return failed, retry
	}
	value := target.Value()
	if plan.Preserve {
		copy(value, before.Value)
	}
	u.Write(value, before)
	w.publish(target, at, false)
	if w.entry {
		w.journalWrite(value, plan.Metadata, from, until, patch)
	}
	w.end()
	if status == Created {
		w.session.noteCreated()
	}
	return status, false
}

// withSlack adds a quarter to the capacity of a value that grows, so that most growth stays in
// place, as far as a page allows.
func (w *writer) withSlack(capacity int) int {
	most := w.session.log.PageBytes() - record.HeaderBytes - 16 - record.Pad8(len(w.key.Bytes))
	return max(capacity, min(capacity+record.Pad8(capacity/4), most&^7))
}
