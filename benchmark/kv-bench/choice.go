package main

// pick chooses a key.
func (w *worker) pick() uint64 {
	if w.plan.zipf == nil {
		return w.random.Below(w.plan.keys)
	}
	if !w.plan.latest {
		return w.plan.zipf.Key(&w.random)
	}
	rank := w.plan.zipf.Draw(&w.random)
	if rank < w.added {
		return w.addedKey(w.added - rank)
	}
	return w.plan.keys - 1 - (rank - w.added)
}

// addedKey is the n-th key that this worker adds, from 1. Workers add beside each other, and each
// takes its own for the latest: so no counter is shared, and none reads what is not yet there.
func (w *worker) addedKey(n uint64) uint64 { return w.serial*maxKeys + n }

// roll chooses what to do, as its place in the mix.
func (w *worker) roll() uint8 {
	m := &w.plan.mix
	if m.readsOnly() {
		return mixRead
	}
	switch die := uint8(w.dice.Below(100)); {
	case die < m[mixRead]:
		return mixRead
	case die < m[mixRead]+m[mixUpsert]:
		return mixUpsert
	case die < m[mixRead]+m[mixUpsert]+m[mixRMW]:
		return mixRMW
	}
	return mixDelete
}
