package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// redisConf collects what the lines of a file give, and of those it includes.
type redisConf struct {
	entries []Entry
	notes   []string
	depth   int                               // of includes
	read    func(path string) ([]byte, error) // reads an included file
}

// maxIncludeDepth is how deep files may include one another.
const maxIncludeDepth = 16

// parseRedisConf reads `key value` lines. Blank lines and lines that begin with # are skipped.
// Arguments may stand in double quotes, with \n \r \t \b \a \xHH and \" in them, or in single
// quotes, with \' in them. Keys that only Redis knows are noted and ignored; others are errors.
// `include FILE` stands for the lines of that file, or of all that match a pattern, in their order.
func (p *redisConf) parse(text []byte) error {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if err := p.parseLine(line, number); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// Directive is the option that a line of a redis.conf gives a value, in lower case; empty for a comment and the like.
func Directive(line string) string {
	arguments, err := splitArguments(line)
	if err != nil || len(arguments) == 0 {
		return ""
	}
	return strings.ToLower(arguments[0])
}

// Quote is a value as a redis.conf has it: words as they are, anything else between quotes.
func Quote(value string) string {
	plain := func(r rune) bool { return r > ' ' && r < 0x7f && !strings.ContainsRune("\"'\\#", r) || r == ' ' }
	if value != "" && strings.TrimSpace(value) == value && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return value
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// parseLine reads one line.
func (p *redisConf) parseLine(line string, number int) error {
	arguments, err := splitArguments(line)
	if err != nil || len(arguments) == 0 {
		return err
	}
	name := strings.ToLower(arguments[0])
	if len(arguments) == 1 {
		return fmt.Errorf("%q has no value", arguments[0])
	}
	if name == "include" {
		return p.include(arguments[1:])
	}
	if _, known := Canonical(name); !known && redisDirectives[name] {
		p.notes = append(p.notes, fmt.Sprintf("line %d is ignored: there is no option %q", number, name))
		return nil
	}
	entry, err := checkedEntry(name, strings.Join(arguments[1:], " "))
	if err != nil {
		return err
	}
	p.entries = append(p.entries, entry)
	return nil
}

// include reads the files that patterns name. One without * or ? must be there. As in Redis, a relative path
// begins at the working directory.
func (p *redisConf) include(patterns []string) error {
	if p.depth == maxIncludeDepth {
		return fmt.Errorf("cannot include %s: %d files include one another", patterns[0], maxIncludeDepth)
	}
	p.depth++
	defer func() { p.depth-- }()
	for _, pattern := range patterns {
		paths := []string{pattern}
		if strings.ContainsAny(pattern, "*?[") {
			var err error
			if paths, err = filepath.Glob(pattern); err != nil {
				return fmt.Errorf("cannot include %s: %w", pattern, err)
			}
		}
		for _, path := range paths {
			text, err := p.read(path)
			if err != nil {
				return fmt.Errorf("cannot include %s: %w", path, err)
			}
			first := len(p.notes)
			if err := p.parse(text); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for i := first; i < len(p.notes); i++ {
				p.notes[i] = path + ": " + p.notes[i]
			}
		}
	}
	return nil
}

var errUnbalancedQuotes = errors.New("a quote is not closed, or is not followed by a blank")

// splitArguments cuts a line at blanks that stand outside quotes. A comment line gives no error
// whatever quotes it has.
func splitArguments(line string) ([]string, error) {
	rest := strings.TrimSpace(line)
	if strings.HasPrefix(rest, "#") {
		return nil, nil
	}
	var arguments []string
	for rest != "" {
		var argument string
		var err error
		if argument, rest, err = nextArgument(rest); err != nil {
			return nil, err
		}
		arguments = append(arguments, argument)
		rest = strings.TrimLeft(rest, " \t\r\n")
	}
	return arguments, nil
}

// nextArgument takes one argument off the front of text, which is not empty nor begins with a blank.
func nextArgument(text string) (argument, rest string, err error) {
	var built strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			return built.String(), text[i:], nil
		case '"', '\'':
			length, ok := appendQuoted(&built, text[i+1:], c)
			end := i + 1 + length
			if !ok || end < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[end])) {
				return "", "", errUnbalancedQuotes
			}
			return built.String(), text[end:], nil
		default:
			built.WriteByte(c)
		}
	}
	return built.String(), "", nil
}

// appendQuoted adds the bytes up to the closing quote and returns how much text they took with it.
func appendQuoted(built *strings.Builder, text string, quote byte) (length int, closed bool) {
	escapes := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			return i + 1, true
		case c != '\\' || i+1 == len(text):
			built.WriteByte(c)
		case quote == '\'':
			if text[i+1] == '\'' {
				c = '\''
				i++
			}
			built.WriteByte(c)
		case text[i+1] == 'x' && i+3 < len(text) && isHex(text[i+2:i+4]):
			value, _ := strconv.ParseUint(text[i+2:i+4], 16, 8)
			built.WriteByte(byte(value))
			i += 3
		default:
			i++
			if escaped, ok := escapes[text[i]]; ok {
				built.WriteByte(escaped)
			} else {
				built.WriteByte(text[i])
			}
		}
	}
	return len(text), false
}

// isHex says whether all of text is hexadecimal digits.
func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// redisDirectives are the directives of Redis 7 that have no option here; a config file written
// for Redis may hold them, and each is noted in the log.
var redisDirectives = fieldSet(`
	acl-pubsub-default aclfile acllog-max-len active-defrag-cycle-max active-defrag-cycle-min
	active-defrag-ignore-bytes active-defrag-max-scan-fields active-defrag-threshold-lower
	active-defrag-threshold-upper activedefrag activerehashing always-show-logo
	aof-load-truncated aof-rewrite-incremental-fsync aof-timestamp-enabled aof-use-rdb-preamble
	aof_rewrite_cpulist appenddirname appendfilename auto-aof-rewrite-min-size
	auto-aof-rewrite-percentage bgsave_cpulist bind-source-addr bio_cpulist busy-reply-threshold
	cluster-allow-pubsubshard-when-down
	cluster-allow-reads-when-down cluster-allow-replica-migration cluster-announce-bus-port
	cluster-announce-hostname cluster-announce-ip cluster-announce-port cluster-announce-tls-port
	cluster-config-file cluster-enabled cluster-link-sendbuf-limit cluster-migration-barrier
	cluster-node-timeout cluster-port cluster-preferred-endpoint-type cluster-replica-no-failover
	cluster-replica-validity-factor cluster-require-full-coverage crash-log-enabled
	crash-memcheck-enabled daemonize dbfilename disable-thp dynamic-hz
	enable-module-command enable-protected-configs gopher-enabled hash-max-listpack-entries
	hash-max-listpack-value hash-max-ziplist-entries hash-max-ziplist-value hll-sparse-max-bytes hz
	ignore-warnings io-threads io-threads-do-reads jemalloc-bg-thread key-load-delay
	lazyfree-lazy-eviction
	lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush
	lfu-decay-time lfu-log-factor list-compress-depth list-max-listpack-size list-max-ziplist-size
	loadmodule locale-collate lua-time-limit masterauth masteruser maxmemory-clients
	maxmemory-eviction-tenacity maxmemory-samples min-replicas-max-lag min-replicas-to-write
	min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite
	oom-score-adj oom-score-adj-values pidfile proc-title-template propagation-error-behavior
	rdb-del-sync-files rdb-save-incremental-fsync rdbchecksum rdbcompression
	rename-command repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay repl-diskless-load
	repl-diskless-sync repl-diskless-sync-delay repl-diskless-sync-max-replicas repl-ping-replica-period
	repl-ping-slave-period repl-timeout replica-announce-ip replica-announce-port replica-announced
	replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush replica-priority
	replica-read-only replica-serve-stale-data replicaof sanitize-dump-payload
	server_cpulist set-max-intset-entries set-proc-title shutdown-on-sigint shutdown-on-sigterm
	slave-announce-ip slave-announce-port slave-lazy-flush slave-priority
	slave-read-only slave-serve-stale-data slaveof
	socket-mark-id stream-node-max-bytes stream-node-max-entries supervised
	syslog-enabled syslog-facility syslog-ident
	tls-ciphersuites
	tls-client-cert-file tls-client-key-file tls-client-key-file-pass tls-cluster tls-dh-params-file
	tls-prefer-server-ciphers tls-replication
	tls-session-cache-size tls-session-cache-timeout
	unixsocketgroup user zset-max-listpack-entries zset-max-listpack-value zset-max-ziplist-entries
	zset-max-ziplist-value`)

// fieldSet is the set of the words in text.
func fieldSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}
