package metamorphic

import "github.com/pyropedb/pyrope/tsavorite"

// asynchronous sends a group's members out, other sessions' verbs in between, and collects all.
func (r *run) asynchronous(o operation) {
	var pendings []*pendingMember
	var open int
	repeated := map[int]int{}
	for _, member := range o.members {
		if !r.settings.lossy {
			repeated[member.key]++
		}
	}
	sent := map[int]bool{}
	for _, member := range o.members {
		if !member.async {
			r.synchronous(member)
			continue
		}
		if r.settings.lossy && sent[member.key] {
			continue // a count that is dropped between two others leaves no certain sum
		}
		sent[member.key] = true
		p := r.sendAsync(member, repeated[member.key] > 1)
		pendings = append(pendings, p)
		if p.status == tsavorite.Pending {
			open++
		}
		if member.seed%8 == 0 {
			if left := r.enter(o.session).CompletePending(false); left > open {
				r.fail(-1, "%d operations are pending, %d were sent out", left, open)
			}
		}
		if member.seed%16 == 1 { // pending operations outlive the protection
			r.leave()
		}
	}
	if left := r.enter(o.session).CompletePending(true); left != 0 {
		r.fail(-1, "%d operations are pending after waiting for all", left)
	}
	for _, p := range pendings {
		r.checkAsync(p)
	}
	r.settleCounts(pendings)
}

// pendingMember is an asynchronous operation that was sent out.
type pendingMember struct {
	operation
	status  tsavorite.Status
	reader  *reader
	updater *updater
}

func (r *run) sendAsync(member operation, unsure bool) *pendingMember {
	p := &pendingMember{operation: member}
	session := r.enter(member.session)
	token := uint64(member.index) + 1000
	if member.verb == verbRead {
		p.reader = &reader{}
		p.status = session.ReadAsync(keyAt(member.key), token, p.reader)
		if called := len(p.reader.results); p.status != tsavorite.Pending && called != 1 {
			r.fail(member.key, "ReadAsync says %v and called the reader %d times", p.status, called)
		}
		return p
	}
	p.updater = r.updater(member)
	p.updater.unsure = unsure
	p.status = session.RMWAsync(keyAt(member.key), token, p.updater)
	if p.status != tsavorite.Pending && p.updater.finishes != 1 {
		r.fail(member.key, "RMWAsync says %v and called Finish %d times", p.status, p.updater.finishes)
	}
	return p
}

// checkAsync checks how an asynchronous operation ended.
func (r *run) checkAsync(p *pendingMember) {
	token := uint64(p.index) + 1000
	if p.reader != nil {
		if len(p.reader.results) != 1 {
			r.fail(p.key, "the reader of %v was called %d times, want once", p.operation, len(p.reader.results))
		}
		status := p.status
		if status == tsavorite.Pending {
			status = p.reader.results[0].status
		}
		r.checkRead(p.key, token, status, p.reader)
		return
	}
	switch {
	case p.updater.finishes != 1:
		r.fail(p.key, "Finish of %v was called %d times, want once", p.operation, p.updater.finishes)
	case p.updater.token != token:
		r.fail(p.key, "Finish of %v got token %d, want %d", p.operation, p.updater.token, token)
	case p.status != tsavorite.Pending && p.status != p.updater.status:
		r.fail(p.key, "RMWAsync says %v, Finish %v", p.status, p.updater.status)
	}
	r.checkUpdate(p.updater, p.updater.status, r.sessions[p.session])
}

// settleCounts brings the model up to date for keys that several members counted up: one of them
// may have created the key, and all have counted.
func (r *run) settleCounts(pendings []*pendingMember) {
	settled := map[int]bool{}
	for _, p := range pendings {
		if p.updater == nil || !p.updater.unsure || settled[p.key] {
			continue
		}
		settled[p.key] = true
		_, found := r.model.get(p.key)
		created, changed := 0, 0
		for _, other := range pendings {
			if other.key != p.key || other.updater == nil || other.updater.failed {
				continue
			}
			if !other.updater.shown {
				created++
			}
			old, live := r.model.get(p.key)
			plan, value := other.outcome(tsavorite.Record{Value: old.value, Metadata: old.Metadata}, live)
			r.model.apply(p.key, plan.Action, value, plan.Metadata)
			changed++
		}
		if found && created > 0 || !found && created != min(changed, 1) {
			r.fail(p.key, "%d counts found no record, the model found=%v before them", created, found)
		}
	}
}

// scan visits a namespace from end to end: each live key exactly once, since nothing moves.
func (r *run) scan(o operation) {
	namespace := namespaces[o.key]
	missing := r.model.live(namespace)
	session := r.enter(o.session)
	for cursor, step := uint64(0), 0; ; step++ {
		v := &visitor{}
		if o.length%3 == 1 {
			v.stopAfter = o.length
		}
		next, err := session.Scan(namespace, cursor, o.length, v)
		if err != nil && r.faults.excuses(err) {
			continue // from the same cursor
		}
		if err != nil {
			r.fail(-1, "cannot scan from %d: %v", cursor, err)
		}
		r.checkVisits(namespace, v, func(key int) string {
			if !missing[key] && !r.settings.moves && !r.faults.struck() {
				return "was visited twice"
			}
			delete(missing, key)
			return ""
		})
		if o.length > 0 && len(v.keys) > o.length {
			r.fail(-1, "a scan of at most %d records visited %d", o.length, len(v.keys))
		}
		if next == 0 {
			break
		}
		if next <= cursor {
			r.fail(-1, "the cursor went from %d to %d", cursor, next)
		}
		cursor = next
		if step > 1<<20 {
			r.fail(-1, "the scan does not end")
		}
	}
	r.checkMissing(missing)
}

// checkVisits compares visited records with the model; visit is told each key's number.
func (r *run) checkVisits(namespace uint32, v *visitor, visit func(key int) string) {
	for i, bytes := range v.keys {
		key, known := keyNumber(namespace, bytes)
		if !known {
			r.fail(-1, "namespace %d has no key %q", namespace, bytes)
		}
		want, live := r.model.get(key)
		if !live {
			r.fail(key, "a dead key was visited, with %d bytes", len(v.records[i].Value))
		}
		if difference := want.difference(v.records[i]); difference != "" {
			r.fail(key, "the wrong record was visited: %s", difference)
		}
		if problem := visit(key); problem != "" {
			r.fail(key, "key %d %s", key, problem)
		}
	}
}

func (r *run) checkMissing(missing map[int]bool) {
	if r.settings.lossy {
		for key := range missing {
			delete(r.model.records, key)
		}
		return
	}
	for key := range missing {
		r.fail(key, "%d live keys were not visited", len(missing))
	}
}

// scanStep takes one step of the scan that other operations interrupt. What it shows must be the
// present; at the end, every key that was live all the while must have been shown.
func (r *run) scanStep(o operation) {
	p := &r.progress
	if !p.active {
		*p = scanProgress{active: true, namespace: namespaces[o.key], missing: r.model.live(namespaces[o.key])}
		r.model.watched = p.missing
	}
	v := &visitor{}
	if o.length%5 == 0 {
		v.stopAfter = 3
	}
	next, err := r.enter(o.session).Scan(p.namespace, p.cursor, o.length, v)
	if err != nil && r.faults.excuses(err) {
		return // the next step goes on from the same cursor
	}
	if err != nil {
		r.fail(-1, "cannot scan from %d: %v", p.cursor, err)
	}
	r.checkVisits(p.namespace, v, func(key int) string {
		delete(p.missing, key)
		return ""
	})
	p.cursor = next
	if next == 0 {
		p.active = false
		r.model.watched = nil
		if !r.settings.lossy { // else a key may have been dropped and written again beyond the scan's end
			r.checkMissing(p.missing)
		}
	}
}

// forgetDead drops from the interrupted scan's debt what has died in between.
func (r *run) forgetDead() {
	if !r.progress.active {
		return
	}
	for key := range r.progress.missing {
		if _, live := r.model.get(key); !live {
			delete(r.progress.missing, key)
		}
	}
}

// randomKey asks for any live key.
func (r *run) randomKey(o operation) {
	namespace := namespaces[o.key]
	v := &visitor{}
	session := r.enter(o.session)
	status := session.RandomKey(namespace, v)
	if status == tsavorite.StatusError && r.isExcused(session) {
		return
	}
	live := len(r.model.live(namespace))
	switch {
	case status == tsavorite.Found && len(v.keys) == 1:
	case status == tsavorite.NotFound && len(v.keys) == 0 && (live == 0 || r.settings.lossy):
		return
	default:
		r.fail(-1, "RandomKey says %v and visited %d records; %d keys are live", status, len(v.keys), live)
	}
	r.checkVisits(namespace, v, func(int) string { return "" })
}
