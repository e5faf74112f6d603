package config

// The parsers behind ReadFile, for fuzzing without files.
var (
	ParseRedisConf = parseRedisConf
	ParseJSON      = parseJSON
)
