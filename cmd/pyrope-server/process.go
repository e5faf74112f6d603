package main

import (
	"strings"

	"github.com/pyropedb/pyrope/server/command"
)

// programVersion is the version of this build: the release, and the commit of a build that is none.
func programVersion() string {
	switch {
	case version == "":
		return command.Version
	case strings.HasPrefix(version, "v"):
		return version[1:]
	}
	return command.Version + "-" + version
}
