package command

import "github.com/pyropedb/pyrope/tsavorite"

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
	r := &c.pair
	r.begin()
	c.Session.LatchRead(c.keys, r)
	c.Session.Unlatch()
	if r.keys.large {
		ok = c.loadedCut(func(entries []cutEntry) bool {
			r.begin()
			for i := range entries {
				r.Read(uint64(i), entries[i].status(), entries[i].record())
			}
			return false
		})
		if !ok {
			return nil, nil, false
		}
	}
	a, b = r.values[0], r.values[1]
	r.values = [2][]byte{}
	return a, b, r.keys.ready(c, 0)
}

// pairReader is a Reader that copies the values of two strings.
type pairReader struct {
	values [2][]byte
	keys   foldedKeys
}

func (r *pairReader) begin() {
	r.values = [2][]byte{}
	r.keys.begin(len(r.values))
}

func (r *pairReader) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	switch {
	case !r.keys.take(token, status, record):
	case record.Kind != kindString:
		r.keys.note(token, errLCSType)
	default:
		r.values[token] = append([]byte(nil), record.Value...)
	}
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
