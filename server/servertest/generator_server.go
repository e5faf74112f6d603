package servertest

import "strconv"

// NewServerGenerator returns the generator of commands about the connection and the server, as far as their replies do not
// depend on the machine or the time, or can be compared in part.
func NewServerGenerator(seed uint64) *Generator {
	g := NewGenerator(seed)
	g.templates = serverTemplates
	g.rare = []string{"RESET", "CONFIG RESETSTAT", "SLOWLOG RESET", "LATENCY RESET"}
	g.producers = serverProducers
	return g
}

// serverTemplates have no command that ends the connection, the server or the replies, not even with a word too many or too few.
var serverTemplates = []string{
	"PING", "PING word", "PING word word", "ECHO word", "ECHO word word", "SELECT database", "SELECT integer", "RESET", "RESET word",
	"HELLO", "HELLO version", "HELLO version", "HELLO version hellooption", "HELLO version hellooption hellooption", "HELLO integer", "HELLO word word",
	"AUTH word", "AUTH default word", "AUTH word word", "AUTH word word word", "TIME", "TIME word", "LASTSAVE", "LASTSAVE word", "ROLE", "ROLE word",
	"CLIENT word", "CLIENT word word", "CLIENT", "CLIENT GETNAME", "CLIENT GETNAME", "CLIENT SETNAME word", "CLIENT SETNAME name", "CLIENT ID", "CLIENT INFO", "CLIENT LIST",
	"CLIENT LIST TYPE kind", "CLIENT LIST ID integer integer", "CLIENT LIST word word", "CLIENT LIST ID",
	"CLIENT KILL address", "CLIENT KILL killoption", "CLIENT KILL killoption killoption", "CLIENT KILL killoption killoption word",
	"CLIENT NO-EVICT onoff", "CLIENT REPLY word", "CLIENT PAUSE pause", "CLIENT PAUSE pause pausemode", "CLIENT UNPAUSE", "CLIENT UNPAUSE word",
	"CLIENT UNBLOCK integer", "CLIENT UNBLOCK integer unblock", "CLIENT GETREDIR", "CLIENT TRACKINGINFO", "CLIENT TRACKINGINFO", "CLIENT CACHING yesno",
	"CLIENT TRACKING onoff", "CLIENT TRACKING onoff tracking", "CLIENT TRACKING onoff tracking tracking", "CLIENT TRACKING onoff tracking tracking trackingflag",
	"COMMAND word", "COMMAND GETKEYS command word word", "COMMAND GETKEYS command word word word", "COMMAND GETKEYSANDFLAGS command word word word", "COMMAND INFO word",
	"COMMAND INFO GET SET nope", "COMMAND LIST word word word", "COMMAND DOCS word", "COMMAND COUNT word",
	"CONFIG word", "CONFIG word word", "CONFIG GET parameter", "CONFIG GET parameter parameter", "CONFIG SET parameter word", "CONFIG SET parameter integer",
	"CONFIG SET parameter integer parameter word", "CONFIG SET word word", "CONFIG SET parameter integer parameter",
	"OBJECT word", "OBJECT word word", "OBJECT inspection key", "OBJECT inspection key word",
	"MEMORY word", "MEMORY word word", "MEMORY USAGE nokey", "MEMORY USAGE nokey SAMPLES integer", "MEMORY USAGE nokey word word", "MEMORY USAGE nokey SAMPLES word", "MEMORY PURGE", "MEMORY MALLOC-STATS", "MEMORY MALLOC-STATS word",
	"LATENCY word", "LATENCY HISTORY word", "LATENCY GRAPH word", "LATENCY RESET word word", "LATENCY LATEST", "LATENCY HISTOGRAM word", "LATENCY DOCTOR word",
	"SLOWLOG word", "SLOWLOG GET", "SLOWLOG GET integer", "SLOWLOG GET word", "SLOWLOG LEN", "SLOWLOG LEN word", "SLOWLOG RESET",
	"DEBUG word", "DEBUG SLEEP 0", "DEBUG SET-ACTIVE-EXPIRE 1", "DEBUG PROTOCOL prototype", "DEBUG ERROR word", "DEBUG STRINGMATCH-LEN word word", "DEBUG OBJECT nokey",
	"DEBUG LOG word",
	"PUBSUB word", "PUBSUB CHANNELS word", "PUBSUB NUMSUB word word", "PUBSUB NUMPAT", "PUBSUB SHARDNUMSUB word", "PUBSUB SHARDCHANNELS", "PUBLISH word word", "SPUBLISH word word",
	"INFO section", "INFO section section", "WAIT 0 integer", "WAIT word word", "SHUTDOWN word word", "BGSAVE word word", "SWAPDB database database", "SWAPDB integer word",
	"word word word", "word",
}

var serverProducers = map[string]func(*Generator) []string{
	"version": func(g *Generator) []string {
		return []string{pick(g, []string{"2", "3", "3", "2", "1", "4", "x", "", "03", "3.0"})}
	},
	"hellooption": func(g *Generator) []string {
		switch g.random.IntN(4) {
		case 0:
			return []string{g.recase("AUTH"), pick(g, []string{"default", "default", "nobody"}), g.word()[0]}
		case 1:
			return []string{g.recase("SETNAME"), g.name()}
		}
		return []string{pick(g, []string{"AUTH", "SETNAME", "NOPE", "auth x"})}
	},
	"name":    func(g *Generator) []string { return []string{g.name()} },
	"address": func(g *Generator) []string { return []string{pick(g, []string{"1.2.3.4:5", "", "x", "/tmp/none:0"})} },
	"nokey":   func(g *Generator) []string { return []string{pick(g, []string{"no key", "", "\x00"})} },
	"kind":    func(g *Generator) []string { return []string{g.recase(pick(g, clientKinds))} },
	"killoption": func(g *Generator) []string {
		switch g.random.IntN(8) {
		case 0:
			return []string{g.recase("ID"), pick(g, []string{"999999", "0", "-1", "x", "9223372036854775808", ""})}
		case 1:
			return []string{g.recase("TYPE"), g.recase(pick(g, clientKinds[1:]))} // not normal ones
		case 2:
			return []string{g.recase("ADDR"), "1.2.3.4:5"}
		case 3:
			return []string{g.recase("LADDR"), "1.2.3.4:5"}
		case 4:
			return []string{g.recase("USER"), pick(g, []string{"nobody", ""})}
		case 5:
			return []string{g.recase("SKIPME"), pick(g, []string{"yes", "YES", "maybe", ""}), "ID", "999999"}
		}
		return []string{pick(g, []string{"ID", "NOPE", "", "MAXAGE 1"}), "999999"}
	},
	"onoff": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"ON", "OFF", "ON", "OFF", "x"}))}
	},
	"yesno":     func(g *Generator) []string { return []string{g.recase(pick(g, []string{"YES", "NO", "x"}))} },
	"pause":     func(g *Generator) []string { return []string{pick(g, []string{"0", "1", "-1", "x", "", "1.5"})} },
	"pausemode": func(g *Generator) []string { return []string{g.recase(pick(g, []string{"WRITE", "ALL", "x", ""}))} },
	"unblock":   func(g *Generator) []string { return []string{g.recase(pick(g, []string{"TIMEOUT", "ERROR", "x", ""}))} },
	"tracking": func(g *Generator) []string {
		switch g.random.IntN(4) {
		case 0:
			return []string{g.recase("PREFIX"), pick(g, []string{"a", "b", "ab", ""})}
		case 1:
			return []string{g.recase("REDIRECT"), pick(g, []string{"0", "x", "999999", "-1", "9223372036854775808"})}
		}
		return []string{g.recase(pick(g, []string{"BCAST", "OPTIN", "OPTOUT", "NOLOOP", "PREFIX", "NOPE"}))}
	},
	"trackingflag": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"BCAST", "OPTIN", "OPTOUT", "NOLOOP", "NOPE"}))} // three prefixes may have two replies
	},
	"command": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"GET", "SET", "MSET", "DEL", "BITOP", "PFMERGE", "RENAME", "PING", "OBJECT", "SSUBSCRIBE", "LCS", "BITFIELD", "NOPE"}))}
	},
	"parameter": func(g *Generator) []string { return []string{g.recase(pick(g, sharedParameters))} },
	"inspection": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"ENCODING", "REFCOUNT", "IDLETIME", "FREQ"}))}
	},
	"prototype": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"string", "integer", "double", "bignum", "null", "array", "set", "map", "verbatim", "true", "false", "nope"}))}
	},
	"section": func(g *Generator) []string {
		return []string{pick(g, []string{"server", "CLIENTS", "all", "nope", "default", "everything", ""})}
	},
}

var clientKinds = []string{"normal", "pubsub", "master", "replica", "slave", "nope", ""}

// sharedParameters are those of CONFIG that both servers have with the same default and bounds, and that do not make them tell of the machine.
var sharedParameters = []string{"slowlog-max-len", "notify-keyspace-events", "active-expire-effort", "nope", "",
	"latency-tracking"}

// name is one for a connection, right or wrong.
func (g *Generator) name() string {
	return pick(g, []string{"", "me", "a b", "a\nb", "x" + strconv.Itoa(g.random.IntN(10)), "\x7f", "!~", "ü"})
}
