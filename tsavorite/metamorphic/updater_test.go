package metamorphic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pyropedb/pyrope/tsavorite"
)

// outcome says what an operation's change makes of a record: the plan, and the value after it.
// It is the one place that knows; the updater and the model both ask it.
func (o operation) outcome(old tsavorite.Record, found bool) (tsavorite.Plan, []byte) {
	plan := tsavorite.Plan{Action: tsavorite.Write, Metadata: o.metadata}
	switch o.change {
	case changeSet:
		plan.Length = o.length
		value := make([]byte, o.length)
		fill(value, o.seed)
		return plan, value
	case changeAppend:
		plan.Preserve = true
		plan.Length = min(len(old.Value)+o.length, maxValueLength)
		return plan, o.preserved(old.Value, plan.Length)
	case changeShorten:
		plan.Preserve = true
		plan.Length = min(len(old.Value), o.length)
		return plan, o.preserved(old.Value, plan.Length)
	case changePatch:
		plan.Preserve = true
		plan.Length = len(old.Value)
		value := o.preserved(old.Value, plan.Length)
		fill(value[o.patchStart(plan.Length):], o.seed)
		return plan, value
	case changeCount:
		plan.Length = 8
		return plan, binary.LittleEndian.AppendUint64(nil, o.counted(old.Value))
	case changeMetadata:
		if !found {
			return tsavorite.Plan{Action: tsavorite.Keep}, nil
		}
		plan.Action = tsavorite.SetMetadata
		return plan, nil
	case changeRemove:
		return tsavorite.Plan{Action: tsavorite.Remove}, nil
	}
	return tsavorite.Plan{Action: tsavorite.Keep}, nil
}

// preserved is the old value cut or grown to length, new bytes drawn from the seed.
func (o operation) preserved(old []byte, length int) []byte {
	value := make([]byte, length)
	kept := copy(value, old)
	fill(value[kept:], o.seed)
	return value
}

// patchStart is where a patch of a value of length bytes begins.
func (o operation) patchStart(length int) int {
	if length == 0 {
		return 0
	}
	return int(o.seed % uint64(length))
}

// counted is the counter after the change; what is not a counter counts from nothing.
func (o operation) counted(old []byte) uint64 {
	if len(old) != 8 {
		return uint64(o.length)
	}
	return binary.LittleEndian.Uint64(old) + uint64(o.length)
}

// updater runs an operation's change and checks what the engine shows it on the way.
type updater struct {
	operation
	want     modelRecord // what Plan should be shown
	found    bool
	unsure   bool // several asynchronous changes of one key: what Plan is shown is not certain
	lossy    bool // the store may have dropped the record
	old      []byte
	plan     tsavorite.Plan
	shown    bool // what the last Plan was shown: a record or none
	plans    int
	writes   int
	finishes int
	token    uint64
	status   tsavorite.Status
	failed   bool // by an injected fault: nothing was changed
	problem  string
}

var _ tsavorite.AsyncUpdater = (*updater)(nil)

func (u *updater) complain(format string, arguments ...any) {
	if u.problem == "" {
		u.problem = fmt.Sprintf(format, arguments...)
	}
}

// Plan checks the record shown and decides.
func (u *updater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.plans++
	switch {
	case u.unsure:
	case found != u.found && !(u.lossy && !found):
		u.complain("Plan was shown found=%v, want %v (%d bytes)", found, u.found, len(current.Value))
	case found:
		if difference := u.want.difference(current); difference != "" {
			u.complain("Plan was shown the wrong record: %s", difference)
		}
	}
	if !found && (len(current.Value) != 0 || current.Metadata != tsavorite.Metadata{}) {
		u.complain("Plan was shown %+v with found=false", current)
	}
	u.old = slices.Clone(current.Value)
	u.shown = found
	u.plan, _ = u.outcome(current, found)
	return u.plan
}

// Write fills the value the way the change asks, in place or apart.
func (u *updater) Write(value []byte, current tsavorite.Record) {
	u.writes++
	if u.plans == 0 || u.plan.Action != tsavorite.Write {
		u.complain("Write was called for action %d after %d calls of Plan", u.plan.Action, u.plans)
		return
	}
	if len(value) != u.plan.Length {
		u.complain("Write got %d bytes, want the plan's %d", len(value), u.plan.Length)
		return
	}
	if u.plan.Preserve {
		kept := min(len(u.old), len(value))
		if !bytes.Equal(value[:kept], u.old[:kept]) {
			u.complain("Write got a value that does not preserve the first %d bytes", kept)
		}
	}
	if !bytes.Equal(current.Value, u.old) {
		u.complain("Write was shown %d bytes that are not what Plan was shown (%d bytes)", len(current.Value), len(u.old))
	}
	switch u.change {
	case changeSet:
		fill(value, u.seed)
	case changeAppend:
		fill(value[min(len(u.old), len(value)):], u.seed)
	case changePatch:
		fill(value[u.patchStart(len(value)):], u.seed)
	case changeCount:
		binary.LittleEndian.PutUint64(value, u.counted(current.Value))
	}
}

// Finish notes the end of an asynchronous change.
func (u *updater) Finish(token uint64, status tsavorite.Status) {
	u.finishes++
	u.token, u.status = token, status
}

// verdict says what is wrong with how the engine called the updater; "" if nothing.
func (u *updater) verdict(status tsavorite.Status) string {
	switch {
	case u.problem != "":
		return u.problem
	case u.plans == 0:
		return "Plan was never called"
	case u.plan.Action == tsavorite.Write && u.writes == 0:
		return "Write was never called"
	case status != planStatus(u.plan.Action, u.shown):
		return fmt.Sprintf("status is %v, want %v", status, planStatus(u.plan.Action, u.shown))
	}
	return ""
}

// planStatus is the status of a change that ended with action, found a record or not.
func planStatus(action tsavorite.Action, found bool) tsavorite.Status {
	switch {
	case action == tsavorite.Remove && found:
		return tsavorite.Deleted
	case action == tsavorite.Write && !found:
		return tsavorite.Created
	case found:
		return tsavorite.Found
	}
	return tsavorite.NotFound
}

// readResult is what a Reader was called with; the value is a copy.
type readResult struct {
	token  uint64
	status tsavorite.Status
	record tsavorite.Record
}

// reader collects the results of reads.
type reader struct{ results []readResult }

// Read copies the result.
func (r *reader) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	record.Value = slices.Clone(record.Value)
	r.results = append(r.results, readResult{token, status, record})
}

// visitor collects what a scan shows; it stops after stopAfter records if that is above zero.
type visitor struct {
	keys      [][]byte
	records   []tsavorite.Record
	stopAfter int
}

// Visit copies the key and the record.
func (v *visitor) Visit(key []byte, record tsavorite.Record) bool {
	record.Value = slices.Clone(record.Value)
	v.keys = append(v.keys, slices.Clone(key))
	v.records = append(v.records, record)
	return v.stopAfter == 0 || len(v.keys) < v.stopAfter
}
