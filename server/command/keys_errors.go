package command

// The error replies of the commands that copy, move, dump and compare values, byte for byte those
// of Redis 7.0.
const (
	errNoSuchKey      = "ERR no such key"
	errSameObject     = "ERR source and destination objects are the same"
	errFirstDatabase  = "ERR invalid first DB index"
	errSecondDatabase = "ERR invalid second DB index"
	errBusyKey        = "BUSYKEY Target key name already exists."
	errTTL            = "ERR Invalid TTL value, must be >= 0"
	errIdleTime       = "ERR Invalid IDLETIME value, must be >= 0"
	errFrequency      = "ERR Invalid FREQ value, must be >= 0 and <= 255"
	errDumpVersion    = "ERR DUMP payload version or checksum are wrong"
	errDumpFormat     = "ERR Bad data format"
	errLCSType        = "ERR The specified keys must contain string values"
	errLCSBoth        = "ERR If you want both the length and indexes, please just use IDX."
	errLCSMemory      = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
)

// The errors of the commands on etags: the first is Garnet's, which has no code in front.
const (
	errEtag         = "ETAG must be a numerical value greater than or equal to 0"
	errEtagOverflow = "ERR etag would overflow"
)
