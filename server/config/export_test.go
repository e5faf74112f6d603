package config

import "io/fs"

// ParseRedisConf and ParseJSON are the parsers behind ReadFile, for fuzzing without files.
func ParseRedisConf(text []byte) ([]Entry, []string, error) {
	parsed := redisConf{read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
	err := parsed.parse(text)
	return parsed.entries, parsed.notes, err
}

var ParseJSON = parseJSON
