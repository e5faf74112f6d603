package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/server/config"
)

// assignment is one option of a CONFIG SET with its text, which is checked already.
type assignment struct{ name, value string }

// changeOptions puts options to use together, or returns the problem. It reads files for some, so others are served meanwhile.
func (c *Context) changeOptions(assigned []assignment) (problem string) {
	if len(assigned) == 0 {
		return ""
	}
	change := c.State.Server.Change
	if change == nil {
		return immutable
	}
	c.Wait(func() {
		err := change(func(o *config.Options) {
			for _, a := range assigned {
				_ = o.Set(a.name, a.value) // it was checked
			}
		})
		switch secure := slices.ContainsFunc(assigned, func(a assignment) bool { return tlsParameters[a.name] != nil }); {
		case err != nil && secure:
			problem = "Unable to update TLS configuration. Check server logs."
		case err != nil:
			problem = err.Error()
		}
	})
	return problem
}

// tlsParameters are the checks of the TLS options that may change, by name.
var tlsParameters = map[string]func(string) string{
	"tls-cert-file": anyText, "tls-key-file": anyText, "tls-key-file-pass": anyText, "tls-ca-cert-file": anyText,
	"tls-ca-cert-dir": anyText, "tls-protocols": anyText, "tls-ciphers": anyText, "tls-session-caching": checkSwitch,
	"tls-auth-clients": checkClientAuth, "cert-file-name": anyText, "cert-password": anyText, "issuer-certificate-path": anyText,
	"client-certificate-required": checkClientAuth,
}

// runtimeParameters are the options that may change while the server runs and that it puts to use itself.
func runtimeParameters() []parameter {
	all := []parameter{
		{name: "timeout", get: optionText("timeout"), check: checkNumber("timeout")},
		{name: "tcp-keepalive", get: optionText("tcp-keepalive"), check: checkNumber("tcp-keepalive")},
		{name: "cert-refresh-freq", get: optionText("cert-refresh-freq"), check: checkNumber("cert-refresh-freq")},
		{name: "client-output-buffer-limit", get: optionText("client-output-buffer-limit"), check: checkOutputLimits},
		{name: "save", get: optionText("save"), check: checkSavePoints},
		{name: "stop-writes-on-bgsave-error", get: optionText("stop-writes-on-bgsave-error"), check: checkSwitch},
		{name: "checkpoint-rate", get: optionText("checkpoint-rate"), check: checkNumber("checkpoint-rate")},
		{name: "keep-checkpoints", get: optionText("keep-checkpoints"), check: checkNumber("keep-checkpoints")},
		{name: "maxmemory", check: checkMemory, get: func(s *State) string { return bytesText(s.Server.Current().Memory) }},
		{name: "memory", check: checkMemory, get: optionText("memory")},
		{name: "maxmemory-policy", check: checkPolicy, get: optionText("maxmemory-policy")},
		{name: "protected-mode", get: optionText("protected-mode"), check: checkSwitch},
		{name: "client-query-buffer-limit", check: checkSize("client-query-buffer-limit"),
			get: func(s *State) string { return bytesText(s.Server.Current().QueryBufferLimit) }},
		{name: "proto-max-bulk-len", check: checkSize("proto-max-bulk-len"),
			get: func(s *State) string { return bytesText(s.Server.Current().MaxBulk) }},
	}
	for name, check := range tlsParameters {
		all = append(all, parameter{name: name, get: optionText(name), check: check})
	}
	return all
}

// optionText returns what shows an option.
func optionText(name string) func(s *State) string {
	return func(s *State) string { return s.Server.Current().Get(name) }
}

// bytesText is a size as Redis shows it.
func bytesText(size config.Size) string { return strconv.FormatUint(uint64(size), 10) }

func anyText(string) string { return "" }

func checkSwitch(value string) string {
	if lowered := strings.ToLower(value); lowered != string(config.On) && lowered != string(config.Off) {
		return "argument must be 'yes' or 'no'"
	}
	return ""
}

func checkClientAuth(value string) string {
	var demand config.ClientAuth
	if err := demand.UnmarshalText([]byte(value)); err != nil {
		return oneOf("no", "yes", "optional")
	}
	return ""
}

// checkMemory checks the cap alone; whether it can be had the server knows.
func checkMemory(value string) string {
	if _, err := config.ParseSize(value); err != nil {
		return "argument must be a memory value"
	}
	return ""
}

func checkPolicy(value string) string {
	var policy config.Policy
	if err := policy.UnmarshalText([]byte(value)); err != nil {
		return oneOf("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction")
	}
	return ""
}

// checkNumber returns the check of a number with bounds.
func checkNumber(name string) func(string) string {
	least, most := config.Range(name)
	return func(value string) string {
		number, ok := parseInteger([]byte(value))
		switch {
		case !ok:
			return "argument couldn't be parsed into an integer"
		case number < least || number > most:
			return fmt.Sprintf("argument must be between %d and %d inclusive", least, most)
		}
		return ""
	}
}

// checkSize returns the check of a size with bounds.
func checkSize(name string) func(string) string {
	least, most := config.Range(name)
	return func(value string) string {
		size, err := config.ParseSize(value)
		switch {
		case err != nil:
			return "argument must be a memory value"
		case size < config.Size(least) || size > config.Size(most):
			return fmt.Sprintf("argument must be between %d and %d inclusive", least, most)
		}
		return ""
	}
}

// checkOutputLimits checks client-output-buffer-limit.
func checkOutputLimits(value string) string {
	var limits config.OutputLimits
	switch err := limits.UnmarshalText([]byte(value)); {
	case errors.Is(err, config.ErrLimitCount):
		return "Wrong number of arguments in buffer limit configuration."
	case errors.Is(err, config.ErrLimitClass):
		return "Invalid client class specified in buffer limit configuration."
	case err != nil:
		return "Error in hard, soft or soft_seconds setting in buffer limit configuration."
	}
	return ""
}

// checkSavePoints checks save.
func checkSavePoints(value string) string {
	var points config.SavePoints
	if points.UnmarshalText([]byte(value)) != nil {
		return "Invalid save parameters"
	}
	return ""
}
