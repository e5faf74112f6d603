package command

import "github.com/pyropedb/pyrope/tsavorite"

// setOptions are the options of SET and GETEX, parsed before any key is touched.
type setOptions struct {
	onlyIfMissing bool // NX
	onlyIfPresent bool // XX
	wantOld       bool // GET
	keepDeadline  bool // KEEPTTL
	persist       bool // PERSIST
	withEtag      bool // WITHETAG
	unit          expiryUnit
	time          []byte // the argument of EX, PX, EXAT or PXAT
}

// parse reads the options of SET, or of GETEX, and reports whether their syntax is right. An option may be
// repeated; of its values the last counts.
func (o *setOptions) parse(arguments [][]byte, ofGetex bool) bool {
	for i := 0; i < len(arguments); i++ {
		word := arguments[i]
		unit := expiryOption(word)
		switch {
		case unit != noExpiry:
			if i+1 == len(arguments) || o.keepDeadline || o.persist || o.unit != noExpiry && o.unit != unit {
				return false
			}
			i++
			o.unit, o.time = unit, arguments[i]
		case ofGetex:
			if !equalFold(word, "persist") || o.unit != noExpiry {
				return false
			}
			o.persist = true
		case equalFold(word, "nx") && !o.onlyIfPresent:
			o.onlyIfMissing = true
		case equalFold(word, "xx") && !o.onlyIfMissing:
			o.onlyIfPresent = true
		case equalFold(word, "get"):
			o.wantOld = true
		case equalFold(word, "keepttl") && o.unit == noExpiry:
			o.keepDeadline = true
		case equalFold(word, "withetag"):
			o.withEtag = true
		default:
			return false
		}
	}
	return true
}

// expiryOption is the unit an option's word stands for, or noExpiry if it is another word.
func expiryOption(word []byte) expiryUnit {
	switch {
	case equalFold(word, "ex"):
		return relativeSeconds
	case equalFold(word, "px"):
		return relativeMilliseconds
	case equalFold(word, "exat"):
		return absoluteSeconds
	case equalFold(word, "pxat"):
		return absoluteMilliseconds
	}
	return noExpiry
}

// set is SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL] [WITHETAG].
func set(c *Context) {
	if len(c.Args) == 3 {
		c.overwrite(c.Args[2], 0)
		return
	}
	var options setOptions
	if !options.parse(c.Args[3:], false) {
		c.error(errSyntax)
		return
	}
	var deadline int64
	if options.unit != noExpiry {
		var problem string
		if deadline, problem = deadlineOf(options.time, options.unit, c.Now()); problem != "" {
			c.deadlineProblem(problem)
			return
		}
	}
	if options.withEtag {
		c.setOptionEtag(options, deadline)
		return
	}
	if !options.onlyIfMissing && !options.onlyIfPresent && !options.wantOld && !options.keepDeadline {
		c.overwrite(c.Args[2], deadline)
		return
	}
	written, ok := c.setIf(c.Args[2], deadline, options)
	switch {
	case !ok:
	case options.wantOld:
		c.oldReply()
	case written:
		c.ok()
	default:
		c.null()
	}
}

// overwrite gives the key in Args[1] a value whatever it had, and replies OK.
func (c *Context) overwrite(value []byte, deadline int64) {
	var status tsavorite.Status
	if deadline != 0 && deadline < c.Now() {
		status = c.Session.Delete(c.key(c.Args[1])) // born dead
	} else if len(value) > c.State.large.limit {
		c.giveDeadline(c.keyspace, deadline)
		status = c.overwriteLarge(c.Args[1], value, deadline)
	} else if c.giveDeadline(c.keyspace, deadline); c.learnsNew() {
		c.set = setUpdater{value: value, deadline: deadline, old: &c.old}
		status = c.tryUpdate(c.Args[1], &c.set)
	} else {
		status = c.Session.Upsert(c.key(c.Args[1]), value, tsavorite.Metadata{Deadline: deadline})
	}
	c.wrote(status, c.Args[1])
	if c.failed(status) {
		return
	}
	c.notifySet(c.Args[1], deadline, status)
	c.ok()
}

// notifySet tells that a key was given a value, and perhaps a deadline. status is that of the write: NotFound
// and Deleted are of a value born dead.
func (c *Context) notifySet(key []byte, deadline int64, status tsavorite.Status) {
	if c.command.Name == "restore" {
		c.notifyRestore(key, status)
		return
	}
	if status == tsavorite.NotFound {
		c.notify(newEvent, "new", key)
	}
	c.notify(stringEvent, "set", key)
	if deadline != 0 {
		c.notify(genericEvent, "expire", key)
	}
}

// notifyRestore tells of a RESTORE. Redis deletes the key first, and restores nothing that is born dead.
func (c *Context) notifyRestore(key []byte, status tsavorite.Status) {
	switch status {
	case tsavorite.NotFound:
		return
	case tsavorite.Deleted:
		c.notify(genericEvent, "del", key)
		return
	case tsavorite.Found, tsavorite.Blind:
		c.notify(newEvent, "new", key)
	}
	c.notify(genericEvent, "restore", key)
}

// setIf gives the key in Args[1] a value under the options' conditions, and leaves the old value
// in c.old if it is wanted. It replies only with an error, and then ok is false.
func (c *Context) setIf(value []byte, deadline int64, options setOptions) (written, ok bool) {
	c.giveDeadline(c.keyspace, deadline)
	u := &c.set
	*u = setUpdater{setOptions: options, value: value, deadline: deadline, old: &c.old,
		bornDead: deadline != 0 && deadline < c.Now()}
	update := c.update
	if options.wantOld {
		update = c.updateOld
	}
	status, ok := update(c.Args[1], u)
	if !ok {
		return false, false
	}
	if u.wrongType {
		c.error(errWrongType)
		return false, false
	}
	if u.written {
		c.notifySet(c.Args[1], deadline, status)
	}
	return u.written, true
}

// setUpdater replaces a value under conditions.
type setUpdater struct {
	setOptions
	value    []byte
	deadline int64
	bornDead bool // the deadline has passed already: the key is removed instead
	old      *oldValue

	written   bool // outcome: the conditions held
	wrongType bool // outcome: the old value is wanted and is no string
}

// Plan decides by the options whether the key gets the value.
func (u *setUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.wrongType = u.wantOld && found && current.Kind != kindString
	u.written = !u.wrongType && !(found && u.onlyIfMissing) && !(!found && u.onlyIfPresent)
	if u.wantOld && !u.wrongType {
		u.old.take(current, found)
	}
	switch {
	case !u.written:
		return tsavorite.Plan{Action: tsavorite.Keep}
	case u.bornDead:
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	plan := tsavorite.Plan{Action: tsavorite.Write, Length: len(u.value)}
	plan.Deadline = u.deadline
	if u.keepDeadline && found {
		plan.Deadline = current.Deadline
	}
	return plan
}

func (u *setUpdater) wantsValue(int64) bool { return u.wantOld }

func (u *setUpdater) replacement() []byte { return u.value }

// Write fills in the value.
func (u *setUpdater) Write(value []byte, _ tsavorite.Record) { copy(value, u.value) }

// setnx is SETNX key value.
func setnx(c *Context) {
	if written, ok := c.setIf(c.Args[2], 0, setOptions{onlyIfMissing: true}); ok {
		c.flag(written)
	}
}

// setex is SETEX key seconds value.
func setex(c *Context) { c.setWithTime(relativeSeconds) }

// psetex is PSETEX key milliseconds value.
func psetex(c *Context) { c.setWithTime(relativeMilliseconds) }

func (c *Context) setWithTime(unit expiryUnit) {
	deadline, problem := deadlineOf(c.Args[2], unit, c.Now())
	if problem != "" {
		c.deadlineProblem(problem)
		return
	}
	c.overwrite(c.Args[3], deadline)
}

// getset is GETSET key value.
func getset(c *Context) {
	if _, ok := c.setIf(c.Args[2], 0, setOptions{wantOld: true}); ok {
		c.oldReply()
	}
}
