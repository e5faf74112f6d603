package command

import "github.com/pyropedb/pyrope/tsavorite"

func init() { register(hyperLogLogCommands) }

var hyperLogLogCommands = []Command{
	{Name: "pfadd", Arity: -2, Flags: Write | DenyOOM | Fast, Categories: InWrite | InHyperLogLog | InFast, Handler: pfadd,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW insert"}},
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(1) for each element", Summary: "Adds elements to a HyperLogLog."},
	{Name: "pfcount", Arity: -2, Flags: ReadOnly, Categories: InRead | InHyperLogLog | InSlow, Handler: pfcount,
		Keys:  []KeySpec{{First: 1, Last: -1, Step: 1, Flags: "RW access"}},
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(1) for one key that did not change since, else O(N) in the number of keys, with a large constant",
		Summary: "Estimates how many different elements one HyperLogLog has, or several have together."},
	{Name: "pfmerge", Arity: -2, Flags: Write | DenyOOM, Categories: InWrite | InHyperLogLog | InSlow, Handler: pfmerge,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access insert"}, {First: 2, Last: -1, Step: 1, Flags: "RO access"}},
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(N) in the number of keys, with a large constant", Summary: "Adds the elements of HyperLogLogs to another one."},
}

// sketchScratch is what the commands of this family need while they run.
type sketchScratch struct {
	adder   sketchAdder
	counter sketchCounter
	merged  *sketchRegisters // allocated by the first command that wants it
	merger  sketchMerger
	writer  sketchWriter
}

// pfadd is PFADD key [element ...].
func pfadd(c *Context) {
	u := &c.sketches.adder
	u.elements = c.Args[2:]
	_, ok := c.update(c.Args[1], u)
	u.release()
	switch {
	case !ok:
	case u.problem != "":
		c.error(u.problem)
	default:
		if u.changed {
			c.notify(stringEvent, "pfadd", c.Args[1])
		}
		c.flag(u.changed)
	}
}

// sketchProblem is the error for a record that is no HyperLogLog, or "".
func sketchProblem(record tsavorite.Record) string {
	switch {
	case record.Kind != kindString:
		return errWrongType
	case !sketch(record.Value).valid():
		return errNotSketch
	}
	return ""
}

// sketchAdder adds elements to a HyperLogLog. A dense one is changed where it lies; a sparse one,
// whose length changes, is edited in a copy.
type sketchAdder struct {
	elements [][]byte
	editor   sketchEditor

	inPlace bool // the key has a dense one
	changed bool // outcome
	problem string
}

// Plan finds out whether any element changes a register.
func (u *sketchAdder) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.changed, u.problem, u.inPlace = false, "", false
	plan := tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: len(current.Value), Metadata: current.Metadata}
	if found {
		u.problem = sketchProblem(current)
		u.inPlace = u.problem == "" && sketch(current.Value).isDense()
	}
	switch {
	case u.problem != "":
	case u.inPlace:
		u.changed = u.raisesAny(current.Value)
	default:
		u.edit(current.Value, found)
		plan.Length = len(u.editor.bytes)
	}
	if !u.changed {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return plan
}

// raisesAny tells whether an element raises a register of a dense HyperLogLog.
func (u *sketchAdder) raisesAny(dense sketch) bool {
	for _, element := range u.elements {
		if index, rank := placeOf(element); dense.register(index) < rank {
			return true
		}
	}
	return false
}

// edit adds the elements in the copy. It ends at a place that cannot be decoded, as Redis does:
// what was changed before it stays so.
func (u *sketchAdder) edit(value []byte, found bool) {
	if found {
		u.editor.load(value)
	} else {
		u.editor.create()
		u.changed = true
	}
	for _, element := range u.elements {
		changed, ok := u.editor.raise(placeOf(element))
		if !ok {
			u.problem = errCorruptSketch
			break
		}
		u.changed = u.changed || changed
	}
	if u.changed {
		u.editor.bytes.invalidate()
	}
}

// Write raises the registers, or puts the copy in place of the old value.
func (u *sketchAdder) Write(value []byte, _ tsavorite.Record) {
	if !u.inPlace {
		copy(value, u.editor.bytes)
		return
	}
	dense := sketch(value)
	for _, element := range u.elements {
		dense.raise(placeOf(element))
	}
	dense.invalidate()
}

// release lets go of the arguments, and of a copy that is too large to be kept.
func (u *sketchAdder) release() {
	u.elements = nil
	u.editor.release()
}

// pfcount is PFCOUNT key [key ...].
func pfcount(c *Context) {
	if len(c.Args) > 2 {
		c.countTogether()
		return
	}
	r := &c.sketches.counter
	*r = sketchCounter{}
	status := c.read(c.Args[1], r)
	if c.failed(status) {
		return
	}
	c.lookedUp(c.Args[1], status == tsavorite.Found)
	if r.stale {
		// The estimate is kept in the value. When there is no room for that it is still right.
		if status = c.tryUpdate(c.Args[1], r); c.updateGuard.large {
			status = c.updateLarge(c.Args[1], r, c.updateGuard.id)
		}
		if status != tsavorite.OutOfMemory && c.failed(status) {
			return
		}
		if settled(status) == tsavorite.Found && c.State.attention.has(watchTracking) { // its bytes are others, which no event tells
			c.changes.keys = append(c.changes.keys, c.Args[1])
		}
	}
	if r.problem != "" {
		c.error(r.problem)
		return
	}
	c.integer(r.estimate)
}

// countTogether is PFCOUNT of several keys.
func (c *Context) countTogether() {
	c.collectKeys()
	m := c.beginMerge(len(c.keys))
	c.Session.LatchFold(c.keys, m)
	c.Session.Unlatch()
	switch {
	case m.keys.large:
		c.countSketches()
	case m.keys.ready(c, 0):
		c.integer(m.registers.estimate())
	}
}

// sketchCounter returns the number of elements of a HyperLogLog: the estimate that it holds, or a
// new one, which it then puts there. As a Reader it takes the one that is there.
type sketchCounter struct {
	stale    bool // outcome of the Reader: there is none
	estimate int64
	problem  string
}

// Read takes the estimate of the record.
func (r *sketchCounter) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found {
		return
	}
	if r.problem = sketchProblem(record); r.problem == "" {
		var fresh bool
		r.estimate, fresh = sketch(record.Value).cached()
		r.stale = !fresh
	}
}

// Plan makes the estimate; another command may have made it meanwhile, or removed the key.
func (r *sketchCounter) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	r.estimate, r.problem = 0, ""
	if found {
		r.problem = sketchProblem(current)
	}
	if !found || r.problem != "" {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	value := sketch(current.Value)
	var fresh, ok bool
	if r.estimate, fresh = value.cached(); fresh {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	if r.estimate, ok = value.estimate(); !ok {
		r.problem = errCorruptSketch
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: len(value), Metadata: current.Metadata}
}

// Write puts the estimate into the value.
func (r *sketchCounter) Write(value []byte, _ tsavorite.Record) { sketch(value).setCached(r.estimate) }

// pfmerge is PFMERGE destination [source ...]. The destination is a source too.
func pfmerge(c *Context) {
	c.collectKeys()
	m := c.beginMerge(len(c.keys))
	m.target = &c.source
	c.Session.LatchFold(c.keys, m)
	ok, large := m.keys.ready(c, 0), m.keys.large
	if ok {
		ok, large = c.placeMerged(m)
	}
	c.Session.Unlatch()
	if large {
		ok = c.mergeLarge()
	}
	if ok {
		c.notify(stringEvent, "pfadd", c.Args[1])
		c.ok()
	}
}

// placeMerged gives the latched destination, whose record is in c.source, the registers. When ok is false it replied why not, or the value
// would be a large string: then nothing was written.
func (c *Context) placeMerged(m *sketchMerger) (ok, large bool) {
	u, current := &c.sketches.writer, &c.source
	defer u.editor.release()
	defer current.value.reset()
	u.registers, u.dense = m.registers, m.anyDense
	plan := u.Plan(tsavorite.Record{Value: current.value.bytes, Metadata: current.metadata}, m.keys.found[0])
	if plan.Length > c.State.large.limit {
		return false, true
	}
	status := c.upsertKnown(c.keys[0], u.editor.bytes, plan.Metadata, m.keys.found[0])
	c.wrote(status, c.Args[1])
	return !c.failed(status), false
}

// beginMerge returns the merger, with all registers zero, for so many keys.
func (c *Context) beginMerge(keys int) *sketchMerger {
	s := &c.sketches
	if s.merged == nil {
		s.merged = new(sketchRegisters)
	}
	s.merger = sketchMerger{registers: s.merged, count: keys, keys: s.merger.keys}
	s.merger.Begin()
	return &s.merger
}

// sketchMerger is a Folder that takes the greatest value of each register over several HyperLogLogs.
type sketchMerger struct {
	registers *sketchRegisters
	anyDense  bool
	target    *recordCopy // takes the first key's record; nil if it is not wanted
	count     int         // of the keys
	keys      foldedKeys
}

// Begin forgets the registers.
func (m *sketchMerger) Begin() {
	clear(m.registers[:])
	m.anyDense = false
	m.keys.begin(m.count)
}

// Read takes the registers of one; a missing key has none.
func (m *sketchMerger) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if token == 0 && m.target != nil {
		m.target.Read(token, status, record)
	}
	if !m.keys.take(token, status, record) {
		return
	}
	problem := sketchProblem(record)
	if problem == "" {
		value := sketch(record.Value)
		m.anyDense = m.anyDense || value.isDense()
		if !value.mergeInto(m.registers) {
			problem = errCorruptSketch
		}
	}
	m.keys.note(token, problem)
}

// sketchWriter raises the registers of a HyperLogLog, which is valid or missing, to those given,
// none of which is below its own.
type sketchWriter struct {
	registers *sketchRegisters
	dense     bool // the result is to be dense

	editor sketchEditor
}

// Plan makes the new value. A sparse one comes out as Redis's only if its registers are raised one
// after the other, as Redis does; it may become dense on the way.
func (u *sketchWriter) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	e := &u.editor
	if found {
		e.load(current.Value)
	} else {
		e.create()
	}
	if u.dense {
		e.promote() // the sources were decoded before, this one among them
	}
	if e.bytes.isDense() {
		u.registers.pack(e.bytes[sketchHeaderBytes:])
	} else {
		u.raiseEach()
	}
	e.bytes.invalidate()
	return tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: len(e.bytes), Metadata: current.Metadata}
}

func (u *sketchWriter) raiseEach() {
	for index, value := range u.registers {
		if value != 0 {
			u.editor.raise(index, value)
		}
	}
}

// Write puts the new value in place of the old one.
func (u *sketchWriter) Write(value []byte, _ tsavorite.Record) { copy(value, u.editor.bytes) }
