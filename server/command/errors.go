package command

// The error replies, byte for byte those of Redis 7.0. Each begins with its code and has neither
// the leading '-' nor the line end.
const (
	errSyntax        = "ERR syntax error"
	errNotInteger    = "ERR value is not an integer or out of range"
	errNotFloat      = "ERR value is not a valid float"
	errNaNOrInfinity = "ERR increment would produce NaN or Infinity"
	errOverflow      = "ERR increment or decrement would overflow"
	errDecrOverflow  = "ERR decrement would overflow"
	errOffset        = "ERR offset is out of range"
	errTooLong       = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	errOutOfMemory   = "OOM command not allowed when used memory > 'maxmemory'."
	errWrongType     = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errInvalidCursor = "ERR invalid cursor"
	errNXAndOthers   = "ERR NX and XX, GT or LT options at the same time are not compatible"
	errGTAndLT       = "ERR GT and LT options at the same time are not compatible"
	errNoAuth        = "NOAUTH Authentication required."
	errOutOfRange    = "ERR value is out of range"
	errBitOffset     = "ERR bit offset is not an integer or out of range"
	errBit           = "ERR bit is not an integer or out of range"
	errBitpos        = "ERR The bit argument must be 1 or 0."
	errBitopNot      = "ERR BITOP NOT must be called with a single source key."
	errBitfieldType  = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	errBitOverflow   = "ERR Invalid OVERFLOW type specified"
	errBitReadOnly   = "ERR BITFIELD_RO only supports the GET subcommand"
	errNotSketch     = "WRONGTYPE Key is not a valid HyperLogLog string value."
	errCorruptSketch = "INVALIDOBJ Corrupted HLL object detected"
	errLoading       = "LOADING Redis is loading the dataset in memory"
	errAppendOnly    = "MISCONF Errors writing to the AOF file: %s"
	errNoAppendOnly  = "ERR The append-only file is not enabled"
	errNoSaver       = "ERR This server takes no checkpoints"
	errSaving        = "ERR Background save already in progress"
	errOtherSaving   = "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible."
	errShortening    = "ERR Background append only file rewriting already in progress"
	errUnsaved       = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	// Redis 7.2's.
	errWaitAppendOnly = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
	errUnknownCause   = "ERR the operation failed for an unknown cause"
)

// Errors made of parts; %s is the part that varies.
const (
	errWrongArity        = "ERR wrong number of arguments for '%s' command"
	errInvalidExpire     = "ERR invalid expire time in '%s' command"
	errBitopSources      = "ERR BITOP %s must be called with at least two source keys."
	errUnsupportedOption = "ERR Unsupported option %s"
)

// echoLimit is how much of the client's own words an error repeats, in bytes.
const echoLimit = 128

// unknownCommand replies that Args[0] is no command, repeating the first words of the call.
func (c *Context) unknownCommand() {
	text := append(c.scratch[:0], "ERR unknown command '"...)
	text = append(text, echo(c.Args[0], echoLimit)...)
	text = append(text, "', with args beginning with: "...)
	start := len(text)
	for _, argument := range c.Args[1:] {
		room := echoLimit - (len(text) - start)
		if room <= 0 {
			break
		}
		text = append(text, '\'')
		text = append(text, echo(argument, room)...)
		text = append(text, "' "...)
	}
	c.errorBytes(text)
	c.scratch = text[:0]
}

// unknownSubcommand replies that Args[1] is no subcommand of the container Args[0].
func (c *Context) unknownSubcommand(container *Command) {
	text := append(c.scratch[:0], "ERR unknown subcommand '"...)
	text = append(text, echo(c.Args[1], echoLimit)...)
	text = append(text, "'. Try "...)
	start := len(text)
	text = append(text, container.Name...)
	upper(text[start:])
	text = append(text, " HELP."...)
	c.errorBytes(text)
	c.scratch = text[:0]
}

// upper upper-cases the ASCII letters of b in place.
func upper(b []byte) {
	for i, letter := range b {
		if 'a' <= letter && letter <= 'z' {
			b[i] = letter - ('a' - 'A')
		}
	}
}

// echo cuts an argument for repetition in an error: at limit bytes, and at a zero byte, since
// Redis formats it as a C string.
func echo(argument []byte, limit int) []byte {
	if len(argument) > limit {
		argument = argument[:limit]
	}
	for i, b := range argument {
		if b == 0 {
			return argument[:i]
		}
	}
	return argument
}
