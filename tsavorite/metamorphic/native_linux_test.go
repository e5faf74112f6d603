package metamorphic

import "github.com/pyropedb/pyrope/tsavorite"

// nativeConfigurations are the kernel's own asynchronous devices.
func nativeConfigurations(tiny, growing tsavorite.Options) []configuration {
	return nil
}
