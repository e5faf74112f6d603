package tsavorite

// storeState is the store's version and whether the records of the version before are still being saved, in one word:
//
//	63                      1      0
//	[       version        | frozen ]
//
// A verb that writes loads it once it holds its bucket's latch. So the verbs on a bucket see versions that only grow,
// and no verb of a version ever sees what a later one wrote.
type storeState uint64

const frozenBit = 1

func (s storeState) version() uint64 { return uint64(s) >> 1 }

func (s storeState) isFrozen() bool { return s&frozenBit != 0 }

// version is the store's present version.
func (s *Store) version() uint64 { return storeState(s.state.Load()).version() }

// Version is the version that writes belong to which begin now. Checkpoints change it.
func (s *Store) Version() uint64 { return s.version() }

// Version is the version that the session's last write belongs to: it is in a checkpoint of this version or a later one.
func (s *Session) Version() uint64 { return s.wrote }

// unit is a session's part in the store's unit gate.
type unit struct {
	depth  int    // BeginUnit calls without their EndUnit
	number uint64 // in the journal; 0 until the first entry
}

// BeginUnit makes the verbs up to EndUnit one step for checkpoints and for the journal: what is recovered has
// all of them or none. For the journal the keys must be latched (Latch does that, and is a unit by itself), or not yet be
// reachable by others. Units nest. It is called between Enter and Leave, and waits while a checkpoint takes its cut.
func (s *Session) BeginUnit() {
	s.unit.depth++
	if s.unit.depth > 1 || s.store.unitGate.TryRLock() {
		return
	}
	s.suspend()
	s.store.unitGate.RLock()
	s.resume()
}

// EndUnit ends what BeginUnit began.
func (s *Session) EndUnit() {
	s.unit.depth--
	if s.unit.depth > 0 {
		return
	}
	if s.unit.number != 0 {
		s.entry = Entry{Effect: EffectUnitEnd, Version: s.store.version()}
		s.append(0)
		s.unit.number = 0
	}
	s.store.unitGate.RUnlock()
}
