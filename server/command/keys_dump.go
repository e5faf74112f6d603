package command

func init() { register(dumpCommands) }

var dumpCommands = []Command{
	{Name: "dump", Arity: 2, Flags: ReadOnly, Categories: keyReadSlow, Keys: oneKeyRead, Handler: dump,
		Group: "generic", Since: "2.6.0", Complexity: "O(N) in the length of the value", Summary: "Returns a value in the form that RESTORE takes."},
	{Name: "restore", Arity: -4, Flags: Write | DenyOOM, Categories: keyWriteSlow | InDangerous, Handler: restore,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "OW update"}},
		Group: "generic", Since: "2.6.0", Complexity: "O(N) in the length of the value", Summary: "Makes a key from what DUMP returned."},
}

// heavyBytes is the length from which on work on a value is done outside the engine's protection
// and after the hand-over.
const heavyBytes = 1 << 18

// dump is DUMP key.
func dump(c *Context) {
	found, ok := c.copyValue(c.Args[1])
	if !ok {
		return
	}
	if c.lookedUp(c.Args[1], found); !found {
		c.null()
		return
	}
	if c.lzf == nil {
		c.lzf = new(lzfTable)
	}
	value := c.source.value.bytes
	payload := c.scratch[:0]
	if len(value) < heavyBytes {
		payload = appendDump(payload, value, c.lzf)
	} else {
		c.Wait(func() { payload = appendDump(payload, value, c.lzf) })
	}
	c.bulk(payload)
	if cap(payload) <= keepBufferBytes {
		c.scratch = payload[:0]
	}
}

// restoreOptions are the words RESTORE takes behind the payload.
type restoreOptions struct{ replace, absolute bool }

// restoreOptions reads them, and replies if they are wrong. IDLETIME and FREQ are checked and
// forgotten: there is no place for them.
func (c *Context) restoreOptions() (o restoreOptions, ok bool) {
	options := c.Args[4:]
	hasIdleTime, hasFrequency := false, false
	for i := 0; i < len(options); i++ {
		more := i+1 < len(options)
		switch {
		case equalFold(options[i], "replace"):
			o.replace = true
		case equalFold(options[i], "absttl"):
			o.absolute = true
		case equalFold(options[i], "idletime") && more && !hasFrequency:
			i++
			n, ok := c.integerArgument(options[i])
			if !ok {
				return o, false
			}
			if n < 0 {
				c.error(errIdleTime)
				return o, false
			}
			hasIdleTime = true
		case equalFold(options[i], "freq") && more && !hasIdleTime:
			i++
			n, ok := c.integerArgument(options[i])
			if !ok {
				return o, false
			}
			if n < 0 || n > 255 {
				c.error(errFrequency)
				return o, false
			}
			hasFrequency = true
		default:
			c.error(errSyntax)
			return o, false
		}
	}
	return o, true
}

// restore is RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency].
func restore(c *Context) {
	options, ok := c.restoreOptions()
	if !ok {
		return
	}
	if !options.replace { // this error comes before those of the other arguments
		_, found, ok := c.look()
		if !ok {
			return
		}
		if found {
			c.error(errBusyKey)
			return
		}
	}
	deadline, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	if deadline < 0 {
		c.error(errTTL)
		return
	}
	value, problem := parseDump(c.Args[3])
	if problem != "" {
		c.error(problem)
		return
	}
	if deadline != 0 && !options.absolute {
		deadline += c.Now() // beyond the end of time it is long past, as in Redis
	}
	if options.replace {
		c.overwrite(value, deadline)
		return
	}
	written, ok := c.setIf(value, deadline, setOptions{onlyIfMissing: true})
	switch {
	case !ok:
	case written:
		c.ok()
	default: // another command made the key meanwhile
		c.error(errBusyKey)
	}
}
