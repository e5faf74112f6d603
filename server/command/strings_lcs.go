package command

func init() { register(lcsCommands) }

var lcsCommands = []Command{
	{Name: "lcs", Arity: -3, Flags: ReadOnly, Categories: stringReadSlow, Handler: lcs,
		Keys:  []KeySpec{{First: 1, Last: 2, Step: 1, Flags: "RO access"}},
		Group: "string", Since: "7.0.0", Complexity: "O(N*M) in the lengths of the values", Summary: "Finds the longest common subsequence of two values."},
}

// lcsOptions are the words LCS takes behind the keys.
type lcsOptions struct {
	lengthOnly, positions bool
	withLength            bool
	leastLength           int64 // of the runs that are reported
}

// lcs is LCS key1 key2 [LEN] [IDX] [MINMATCHLEN length] [WITHMATCHLEN].
func lcs(c *Context) {
	a, b, ok := c.twoValues()
	if !ok {
		return
	}
	options, ok := c.lcsOptions()
	if !ok {
		return
	}
	if !subsequenceFits(len(a), len(b), c.stringLimit()) {
		c.error(errLCSMemory)
		return
	}
	s := subsequence{a: a, b: b}
	compute := func() { s.compute(!options.lengthOnly) }
	if len(a)*len(b) < heavyBytes {
		compute()
	} else {
		c.Wait(compute)
	}
	switch {
	case options.positions:
		c.lcsPositions(s.runs(), s.length, options)
	case options.lengthOnly:
		c.integer(int64(s.length))
	default:
		c.bulk(s.text())
	}
}

// twoValues returns copies of the values of the keys in Args[1] and Args[2] as they were at one
// moment; a missing key has an empty one. ok is false after it replied with an error.
func (c *Context) twoValues() (a, b []byte, ok bool) {
	c.keys = append(c.keys[:0], c.key(c.Args[1]), c.key(c.Args[2]))
	a, b, large, ok := c.twoRecords()
	if !large {
		return a, b, ok
	}
	ok = c.loadedCut(func(entries []cutEntry) bool {
		for i, value := range []*[]byte{&a, &b} {
			if entries[i].found && typeKind(entries[i].metadata.Kind) != kindString {
				c.error(errLCSType)
				large = false
				break
			}
			*value = entries[i].small
		}
		for i := range entries {
			c.lookedUp(entries[i].key, entries[i].found)
		}
		return false
	})
	return a, b, ok && large
}

// twoRecords is twoValues for small strings; large is that one is not.
func (c *Context) twoRecords() (a, b []byte, large, ok bool) {
	c.Session.Latch(c.keys)
	defer c.Session.Unlatch()
	c.looked = c.looked[:0]
	for i, value := range []*[]byte{&a, &b} {
		found, ok := c.copyRecord(c.keys[i])
		if !ok {
			return nil, nil, false, false
		}
		if found && c.source.metadata.Kind == kindLarge {
			return nil, nil, true, false
		}
		if found && c.source.metadata.Kind != kindString {
			c.error(errLCSType)
			return nil, nil, false, false
		}
		c.looked = append(c.looked, found)
		*value = append([]byte(nil), c.source.value.bytes...)
	}
	c.allLookedUp(c.keys)
	return a, b, false, true
}

// lcsOptions reads the options, and replies if they are wrong.
func (c *Context) lcsOptions() (o lcsOptions, ok bool) {
	options := c.Args[3:]
	for i := 0; i < len(options); i++ {
		switch {
		case equalFold(options[i], "idx"):
			o.positions = true
		case equalFold(options[i], "len"):
			o.lengthOnly = true
		case equalFold(options[i], "withmatchlen"):
			o.withLength = true
		case equalFold(options[i], "minmatchlen") && i+1 < len(options):
			i++
			if o.leastLength, ok = c.integerArgument(options[i]); !ok {
				return o, false
			}
		default:
			c.error(errSyntax)
			return o, false
		}
	}
	if o.positions && o.lengthOnly {
		c.error(errLCSBoth)
		return o, false
	}
	return o, true
}

// lcsPositions replies with the runs that are long enough, and the length of the whole.
func (c *Context) lcsPositions(runs []commonRun, length int, options lcsOptions) {
	kept := runs[:0]
	for _, run := range runs {
		if int64(run.length) >= options.leastLength {
			kept = append(kept, run)
		}
	}
	c.mapping(2)
	c.bulkString("matches")
	c.array(len(kept))
	for _, run := range kept {
		if options.withLength {
			c.array(3)
		} else {
			c.array(2)
		}
		for _, start := range []int{run.a, run.b} {
			c.array(2)
			c.integer(int64(start))
			c.integer(int64(start + run.length - 1))
		}
		if options.withLength {
			c.integer(int64(run.length))
		}
	}
	c.bulkString("len")
	c.integer(int64(length))
}
