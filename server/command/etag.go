package command

func init() { register(etagCommands) }

// The commands on etags are Garnet's. An etag is a number that a record carries beside its value: it
// counts the values the key was given by these commands. The other commands do not look at it: SET
// and its kin take it away, those that change a value or a deadline leave it as it is. A record
// without one counts as having 0.

const etagGroup = "garnet"

var etagCommands = []Command{
	{Name: "setwithetag", Arity: -3, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyReplaced, Handler: setWithEtag,
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the value of a key and returns its new etag."},
	{Name: "getwithetag", Arity: 2, Flags: ReadOnly | Fast, Categories: stringRead, Keys: oneKeyRead, Handler: getWithEtag,
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the etag and the value of a key."},
	{Name: "getifnotmatch", Arity: 3, Flags: ReadOnly | Fast, Categories: stringRead, Keys: oneKeyRead, Handler: getIfNotMatch,
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the value of a key if its etag is another than the one given."},
	{Name: "setifmatch", Arity: -4, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyReplaced, Handler: setIfMatch,
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the value of a key if its etag is the one given."},
	{Name: "setifgreater", Arity: -4, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyReplaced, Handler: setIfGreater,
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Sets value and etag of a key if the one given is greater than its own."},
	{Name: "delifgreater", Arity: 3, Flags: Write, Categories: stringWriteSlow, Handler: delIfGreater,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RM delete"}},
		Group: etagGroup, Since: "1.0.0", Complexity: "O(1)", Summary: "Deletes a key if the etag given is greater than its own."},
}

// etagArgument reads an etag, or replies with the error.
func (c *Context) etagArgument(argument []byte) (etag uint64, ok bool) {
	n, ok := parseInteger(argument)
	if !ok || n < 0 {
		c.error(errEtag)
		return 0, false
	}
	return uint64(n), true
}

// getWithEtag is GETWITHETAG key.
func getWithEtag(c *Context) {
	if c.readEtag() {
		c.etagReply(c.source.metadata.Etag, true)
	}
}

// getIfNotMatch is GETIFNOTMATCH key etag.
func getIfNotMatch(c *Context) {
	given, ok := c.etagArgument(c.Args[2])
	if !ok || !c.readEtag() {
		return
	}
	etag := c.source.metadata.Etag
	c.etagReply(etag, etag != given)
}

// readEtag copies the record of the key in Args[1] into c.source. It reports false after it
// replied that there is none, or none with a string.
func (c *Context) readEtag() bool {
	found, ok := c.copyValue(c.Args[1])
	switch {
	case !ok:
	case !found:
		c.lookedUp(c.Args[1], false)
		c.null()
	case c.source.metadata.Kind != kindString:
		c.error(errWrongType)
	default:
		c.lookedUp(c.Args[1], true)
		return true
	}
	return false
}

// etagReply replies with an etag and the value in c.source, or null in its place.
func (c *Context) etagReply(etag uint64, withValue bool) {
	c.array(2)
	c.integer(int64(etag))
	if withValue {
		c.bulk(c.source.value.bytes)
	} else {
		c.null()
	}
}

// delIfGreater is DELIFGREATER key etag.
func delIfGreater(c *Context) {
	given, ok := c.etagArgument(c.Args[2])
	if !ok {
		return
	}
	c.etagRemove = etagRemover{given: given}
	u := &c.etagRemove
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.wrongType {
		c.error(errWrongType)
		return
	}
	c.flag(u.removed)
}
